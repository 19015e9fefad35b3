import type { Control, Fault, Findings, Life, Size } from './fault.ts';
import { findAsserted } from './say-failure.ts';

/** What a person chose on the command line. */
export interface Choice {
  readonly size: Size;
  readonly seed: number;
  /** Instead of the size's own number. */
  readonly count?: number | undefined;
  say(line: string): void;
}

export interface Outcome extends Findings {
  readonly seconds: number;
  readonly controls: readonly ControlOutcome[];
  readonly isFine: boolean;
}

interface ControlOutcome {
  readonly name: string;
  readonly count: number;
  readonly found: number;
}

/** Runs a fault and its controls, one after the other: each wants the machine for itself. */
export async function carryOut(fault: Fault, choice: Choice): Promise<Outcome> {
  const startedMs = performance.now();
  const count = choice.count ?? fault.sizes[choice.size];
  const findings = await findAsserted(() => withLife((life) => fault.run({ ...choice, count, life })));
  const controls: ControlOutcome[] = [];
  for (const control of fault.controls ?? []) controls.push(await tryControl(control, choice));
  const areFound = (fault.controls ?? []).every(
    ({ leastShare }, index) => shareOf(controls[index]) >= leastShare,
  );
  return {
    ...findings,
    seconds: Math.round((performance.now() - startedMs) / 1000),
    controls,
    isFine: findings.violations.length === 0 && findings.count >= count && areFound,
  };
}

async function tryControl(control: Control, { say, seed, size }: Choice): Promise<ControlOutcome> {
  say(`control: ${control.name}`);
  const count = control.sizes[size];
  const result = await withLife((life) => control.run({ count, seed, size, say, life }));
  return { name: control.name, ...result };
}

function shareOf(outcome: ControlOutcome | undefined): number {
  return outcome === undefined ? 0 : outcome.found / outcome.count;
}

async function withLife<T>(work: (life: Life) => Promise<T>): Promise<T> {
  const ends: (() => unknown)[] = [];
  try {
    return await work({ after: (end) => ends.push(end) });
  } finally {
    for (const end of ends.reverse()) await end();
  }
}
