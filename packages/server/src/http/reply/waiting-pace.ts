import { LIMITS } from '../../config.ts';

/** How far apart the turns of those who wait are, and how far ahead they are given at most. */
interface Turns {
  readonly gapMs: number;
  readonly longestMs: number;
}

/** Twenty a second: a slot that becomes free is found within a fraction of a second. */
const FOR_ONE_LICENSE: Turns = { gapMs: 50, longestMs: 120_000 };

/** For all licenses together: denials take a few percent of a core, and one license delays others little. */
const FOR_ALL: Turns = { gapMs: 10, longestMs: 20_000 };

/**
 * When those who wait for a slot should ask again, so that they ask at a steady rate, however many they are.
 * Everybody who is denied gets the next free turn, and those who come at their turns and are denied again
 * go to the end: the more wait, the longer it takes. The turn of somebody who does not come again passes. One
 * number is enough for all turns of a license: until when they are taken.
 */
export class WaitingPace {
  readonly #takenUntilMs = new Map<string, number>();
  #allTakenUntilMs = Number.NEGATIVE_INFINITY;

  /** In how many whole seconds to ask again; at least one. */
  takeTurn(wanted: string, nowMs: number): number {
    const ownMs = nextTurn(this.#takenUntilMs.get(wanted) ?? nowMs, nowMs, FOR_ONE_LICENSE);
    this.#allTakenUntilMs = nextTurn(this.#allTakenUntilMs, nowMs, FOR_ALL);
    // Reinserting moves the entry to the end, so the first entry is the least recent one.
    this.#takenUntilMs.delete(wanted);
    this.#takenUntilMs.set(wanted, ownMs);
    if (this.#takenUntilMs.size > LIMITS.pacedLicenses) {
      this.#takenUntilMs.delete(this.#takenUntilMs.keys().next().value as string);
    }
    return Math.ceil((Math.max(ownMs, this.#allTakenUntilMs) - nowMs) / 1000);
  }
}

function nextTurn(takenUntilMs: number, nowMs: number, { gapMs, longestMs }: Turns): number {
  return Math.min(Math.max(takenUntilMs, nowMs) + gapMs, nowMs + longestMs);
}
