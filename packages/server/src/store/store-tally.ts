import type { ErrorCode } from '@berth/protocol/errors';
import type { Command } from '../core/command.ts';
import { DENIAL_REASONS, isDeniable } from '../core/lending/denial-reasons.ts';
import { WHOLE_LICENSE } from '../core/nouns/consumption.ts';
import { Histogram } from '../core/nouns/histogram.ts';
import { MINUTE_MS } from '../core/nouns/instant.ts';
import type { Outcome } from '../core/outcome.ts';

const BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** From a fast disk to one on which clients give up. */
const SYNC_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** How long a peak is kept at least. Longer than most intervals at which monitoring asks. */
const PEAK_MS = 2 * MINUTE_MS;

/**
 * What this server has done with its store since it was opened. Outcomes pass here on their way to whoever
 * waits for them, so noting one must cost next to nothing.
 */
export class StoreTally {
  readonly batchSizes = new Histogram(BATCH_SIZES);
  readonly syncSeconds = new Histogram(SYNC_SECONDS);
  readonly peaks = new Peaks();
  readonly #denials = new Map<ErrorCode, number>(DENIAL_REASONS.map((code) => [code, 0]));

  /** Every reason, those that never occurred too. */
  get denials(): ReadonlyMap<ErrorCode, number> {
    return this.#denials;
  }

  note(command: Command, outcome: Outcome): void {
    if ('isDryRun' in command && command.isDryRun) return;
    switch (outcome.kind) {
      case 'granted':
        this.peaks.note(outcome.license.id, WHOLE_LICENSE, outcome.inUse);
        break;
      case 'measured':
        if (outcome.feature !== null) {
          this.peaks.note(outcome.licenseId, outcome.feature.code, outcome.inUse);
        }
        break;
      case 'refused':
        if (isDeniable(command)) this.#noteDenial(outcome.code);
    }
  }

  #noteDenial(code: ErrorCode): void {
    const count = this.#denials.get(code);
    if (count !== undefined) this.#denials.set(code, count + 1);
  }
}

type InUse = Map<number, Map<string, number>>;

/**
 * The most slots that were in use at a time, by license and feature. A peak is kept until it was asked for
 * and at least two minutes longer, so that several programs can ask and none misses one.
 */
class Peaks {
  #before: InUse = new Map();
  #now: InUse = new Map();
  #sinceMs = Number.NEGATIVE_INFINITY;

  note(licenseId: number, feature: string, inUse: number): void {
    let features = this.#now.get(licenseId);
    if (features === undefined) {
      features = new Map();
      this.#now.set(licenseId, features);
    }
    if (inUse > (features.get(feature) ?? 0)) features.set(feature, inUse);
  }

  /** How to look them up, as of now. */
  read(nowMs: number): (licenseId: number, feature: string) => number {
    const [before, now] = [this.#before, this.#now];
    if (nowMs - this.#sinceMs >= PEAK_MS) {
      this.#before = now;
      this.#now = new Map();
      this.#sinceMs = nowMs;
    }
    const peakIn = (all: InUse, id: number, feature: string) => all.get(id)?.get(feature) ?? 0;
    return (id, feature) => Math.max(peakIn(before, id, feature), peakIn(now, id, feature));
  }
}

/** The connections of one purpose to a database. */
export interface PoolUse {
  readonly name: string;
  readonly max: number;
  readonly inUse: number;
  readonly idle: number;
  /** Requests that wait for one. */
  readonly waiting: number;
}
