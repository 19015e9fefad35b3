import type { Facts } from '../../support/berth-api.ts';
import type { Happening } from './record.ts';

/** What something is, in words; `null`: it is not there. */
export type Value = string | null;

/** A value that only the answer tells: any will do until then. */
export const ANYTHING = '*';

/** A change that a client asks for. Each thing is changed by one client, so its changes have an order. */
export interface Step {
  /** What is changed, such as "slot 1/ada". */
  readonly key: string;
  readonly path: string;
  readonly body: Facts;
  readonly headers?: Readonly<Record<string, string>>;
  mayBecome(before: Value): Value;
  became(answer: Facts, before: Value): Value;
  /** A refusal with one of these codes says that the thing is not there. */
  readonly absentIf?: readonly string[];
  /** How long it is surely there after it was asked for. */
  readonly lastsMs?: number;
  /** What it adds to the total, under its idempotency key. */
  readonly count?: number;
}

/** Where a request and its answer are found in the record: the how manyth of a connection. */
export interface AnswerPlace {
  readonly process: number;
  readonly port: number;
  readonly number: number;
}

/** `unclear`: the server could not say whether it is stored. */
export type Outcome = 'done' | 'refused' | 'unclear';

interface Answered {
  readonly place: AnswerPlace;
  readonly outcome: Outcome;
  readonly code: string | null;
  readonly body: Facts;
}

interface Entry {
  readonly step: Step;
  readonly sentMs: number;
  answered: Answered | null;
}

export interface Count {
  readonly key: string;
  readonly amount: number;
  /** As it was answered; `null`: it was not. */
  readonly total: number | null;
}

/** What must be found after a cut. */
export interface Expected {
  readonly values: Readonly<Record<string, readonly Value[]>>;
  /** Until when a slot lasts at least, as a time in milliseconds. */
  readonly ends: Readonly<Record<string, number>>;
  /** The total before, and acknowledged and unclear counts, each under its key. */
  readonly totalBefore: number;
  readonly counts: readonly Count[];
  /** The tokens by their key. */
  readonly tokens: Readonly<Record<string, string>>;
  /** How many changes were acknowledged. */
  readonly acknowledged: number;
  /** The files of backups, which must be whole. */
  readonly backups?: readonly string[];
}

/** Everything that clients asked for, and what they were told. */
export class Book {
  /** What was there before. */
  readonly #initial: Readonly<Record<string, string>>;
  readonly #clients = new Map<number, Entry[]>();
  #positions = new Map<string, number>();

  constructor(initial: Readonly<Record<string, string>>) {
    this.#initial = initial;
  }

  begin(client: number, step: Step): (answered: Answered) => void {
    const entry: Entry = { step, sentMs: Date.now(), answered: null };
    this.#clients.set(client, [...(this.#clients.get(client) ?? []), entry]);
    return (answered) => {
      entry.answered = answered;
    };
  }

  /** Learns from the record when each answer left. */
  locate(record: readonly Happening[]): void {
    const numbers = new Map<string, number>();
    this.#positions = new Map();
    for (const [position, happening] of record.entries()) {
      if (happening.kind !== 'answer' && happening.kind !== 'request') continue;
      const connection = `${happening.kind} ${happening.process}:${happening.port}`;
      const number = (numbers.get(connection) ?? 0) + 1;
      numbers.set(connection, number);
      this.#positions.set(`${connection}#${number}`, position);
    }
    for (const { answered } of this.#entries()) {
      if (answered !== null) this.#positionOf('answer', answered.place);
    }
  }

  *#entries(): Generator<Entry> {
    for (const entries of this.#clients.values()) yield* entries;
  }

  #positionOf(kind: 'request' | 'answer', { process, port, number }: AnswerPlace): number {
    const position = this.#positions.get(`${kind} ${process}:${port}#${number}`);
    if (position === undefined)
      throw new Error(`The ${kind} ${number} of port ${port} is not in the record.`);
    return position;
  }

  /** The positions right after answers that acknowledge a change which a restart does not hide. */
  listAcknowledged(): readonly number[] {
    const all: number[] = [];
    for (const entries of this.#clients.values()) {
      const seen = new Map<string, Value>(Object.entries(this.#initial));
      for (const { step, answered } of entries) {
        if (answered?.outcome !== 'done') continue;
        const before = seen.get(step.key) ?? null;
        const after = step.became(answered.body, before);
        seen.set(step.key, after);
        if (after !== before || step.count !== undefined)
          all.push(this.#positionOf('answer', answered.place) + 1);
      }
    }
    return all.sort((a, b) => a - b);
  }

  /** What must be there if the power is cut before the happening at this position. */
  expectAt(cut: number): Expected {
    const values = new Map<string, readonly Value[]>(
      Object.entries(this.#initial).map(([key, value]) => [key, [value]]),
    );
    const ends: Record<string, number> = {};
    const counts: Count[] = [];
    const tokens: Record<string, string> = {};
    let acknowledged = 0;
    for (const entries of this.#clients.values()) {
      for (const { step, sentMs, answered } of entries) {
        // Without an answer nobody knows when it arrived.
        if (answered !== null && this.#positionOf('request', answered.place) >= cut) break;
        const isOut = answered !== null && this.#positionOf('answer', answered.place) < cut;
        const outcome = isOut ? answered.outcome : 'unclear';
        const before = values.get(step.key) ?? [null];
        if (outcome === 'done') {
          acknowledged += 1;
          values.set(step.key, [step.became(answered?.body ?? {}, before[0] ?? null)]);
          if (step.lastsMs !== undefined) ends[step.key] = sentMs + step.lastsMs;
          if (typeof answered?.body.token === 'string') tokens[step.key] = answered.body.token;
        } else if (outcome === 'refused') {
          if (step.absentIf?.includes(answered?.code ?? '')) values.set(step.key, [null]);
        } else {
          values.set(step.key, [...new Set([...before, ...before.map((value) => step.mayBecome(value))])]);
          delete ends[step.key];
        }
        if (step.count !== undefined && outcome !== 'refused') {
          const total = outcome === 'done' ? (answered?.body.total_consumptions as number) : null;
          counts.push({ key: step.headers?.['idempotency-key'] ?? '', amount: step.count, total });
        }
      }
    }
    const totalBefore = Number(this.#initial.total ?? 0);
    return { values: Object.fromEntries(values), ends, totalBefore, counts, tokens, acknowledged };
  }
}
