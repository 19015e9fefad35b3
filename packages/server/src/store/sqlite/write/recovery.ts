import { backOffMs } from '../../../core/back-off.ts';
import type { Instant } from '../../../core/nouns/instant.ts';
import { damageFault } from '../wire/damage.ts';

const BACK_OFF = { firstMs: 10, longestMs: 1000 } as const;

/**
 * After a commit that failed, the file is opened again: at once after a single one, so that nobody else
 * notices it, and ever less often while it goes on. The commit that failed may be in the file or not; all
 * before it must be.
 */
export class Recovery {
  readonly #file: string;
  /** Whether the file has to be opened again. */
  isBroken = false;
  /** Since the last batch that was committed. That a file was opened does not count: the next may fail. */
  failures = 0;
  #failedMs = 0;
  /** As of the last commit that did not fail. A commit adds links, or moves the mark at least. */
  acknowledged = { links: 0, mark: 0 };

  constructor(file: string) {
    this.#file = file;
  }

  noteFailure(nowMs: number): void {
    this.isBroken = true;
    this.failures += 1;
    this.#failedMs = nowMs;
  }

  requireDue(nowMs: number): void {
    const restMs = this.failures <= 1 ? 0 : backOffMs(this.failures - 1, BACK_OFF, 1);
    if (nowMs - this.#failedMs < restMs) throw new Error('The disk failed a moment ago.');
  }

  /** Throws if the file has lost something. */
  requireAcknowledged(links: number, mark: Instant | null): void {
    const kept = this.acknowledged;
    if (links > kept.links || (links === kept.links && (mark ?? 0) >= kept.mark)) return;
    throw damageFault(this.#file, 'what was acknowledged is missing');
  }
}
