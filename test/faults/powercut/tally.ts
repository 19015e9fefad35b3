import type { Findings } from '../door/fault.ts';
import type { Happening } from './record.ts';

interface CheckedState {
  readonly scenario: string;
  readonly isProcess: boolean;
  /** How many acknowledged changes it had to have. */
  readonly acknowledged: number;
  readonly ms: number;
  readonly megabytes: number;
}

/** What was counted and found. */
export class Tally {
  readonly violations: string[] = [];
  readonly #states = new Map<string, number>();
  readonly #ms: number[] = [];
  #planned = 0;
  #recordings = 0;
  #writes = 0;
  #syncs = 0;
  #failedSyncs = 0;
  #acknowledged = 0;
  #processes = 0;
  #megabytes = 0;

  /** The number of the next state, from 1. */
  plan(): number {
    this.#planned += 1;
    return this.#planned;
  }

  noteRecording(record: readonly Happening[]): void {
    this.#recordings += 1;
    for (const one of record) {
      if (one.kind === 'write') this.#writes += 1;
      if (one.kind === 'sync') this.#syncs += 1;
      if (one.kind === 'sync' && one.hasFailed) this.#failedSyncs += 1;
    }
  }

  noteState({ scenario, isProcess, acknowledged, ms, megabytes }: CheckedState): void {
    this.#states.set(scenario, (this.#states.get(scenario) ?? 0) + 1);
    this.#ms.push(ms);
    this.#acknowledged += acknowledged;
    if (isProcess) this.#processes += 1;
    this.#megabytes = Math.max(this.#megabytes, Math.round(megabytes));
  }

  describe(): string {
    return `${this.#ms.length} cuts, ${this.violations.length} violations, ${this.#megabytes} MB`;
  }

  report(): Findings {
    const sorted = this.#ms.toSorted((a, b) => a - b);
    const facts = {
      'states by scenario': [...this.#states].map(([name, count]) => `${name} ${count}`).join(', '),
      recordings: this.#recordings,
      'recorded writes': this.#writes,
      'recorded syncs': `${this.#syncs}, of which ${this.#failedSyncs} failed`,
      'acknowledged changes checked': this.#acknowledged,
      'started as a process': this.#processes,
      'median ms per state': Math.round(sorted[sorted.length >> 1] ?? 0),
      'most memory of a checker in MB': this.#megabytes,
    };
    return { count: this.#ms.length, facts, violations: this.violations };
  }
}
