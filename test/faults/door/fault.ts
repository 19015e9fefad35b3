import type { Need } from './needs.ts';
import type { PromiseNumber } from './promises.ts';

/** What is done to the server again and again, and what must hold all the same. */
export interface Fault {
  /** As in `npm run faults -- NAME`. */
  readonly name: string;
  /** What it shows, as a sentence of `docs/reliability.md`. */
  readonly promise: string;
  /** Which promises of Berth it tries to break; empty: it is about something else. */
  readonly promises: readonly PromiseNumber[];
  /** What is counted, such as "power cuts". */
  readonly unit: string;
  readonly sizes: Sizes;
  run(order: Order): Promise<Findings>;
  /** Damage done on purpose, which it must find. */
  readonly controls?: readonly Control[];
  /** What it found when it was written and since, as sentences of `docs/reliability.md`. */
  readonly hasFound?: readonly string[];
  readonly needs?: readonly Need[];
}

export interface Control {
  /** What is damaged, such as "syncs are ignored". */
  readonly name: string;
  readonly sizes: Sizes;
  /** In which share of the attempts it must be found. */
  readonly leastShare: number;
  run(order: Order): Promise<ControlFindings>;
}

/** How often: with `--size small`, which is what `npm test` runs, and in the run that is published. */
interface Sizes {
  readonly small: number;
  readonly full: number;
}

export type Size = keyof Sizes;

/** As a `TestContext` has it: what is ended or removed when all is over, the last first. */
export interface Life {
  after(end: () => unknown): void;
}

export interface Order {
  readonly count: number;
  readonly seed: number;
  readonly size: Size;
  readonly life: Life;
  /** Tells a person how far it is. */
  say(line: string): void;
}

export interface Findings {
  /** How often it was really done. */
  readonly count: number;
  /** What else was counted or measured, such as `acknowledged: 5120`. */
  readonly facts: Readonly<Record<string, number | string>>;
  /** Empty, if the promise holds. */
  readonly violations: readonly string[];
}

interface ControlFindings {
  readonly count: number;
  readonly found: number;
}
