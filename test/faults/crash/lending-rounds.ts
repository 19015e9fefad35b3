import { createRandom, pickOne, type Random } from '../../support/random.ts';
import type { ServerUnderTest } from '../../support/server-under-test.ts';
import { compareWithBook } from './compare-with-book.ts';
import { SlotBook } from './slot-book.ts';
import { pickOperation, sendOperation } from './storm.ts';

interface RoundsOptions {
  readonly licenseIds: readonly number[];
  readonly seed: number;
  /**
   * Whether "nothing was changed" can be taken at its word. Not where the server ends before its disk works
   * again: a commit whose sync failed may still be found by the next start.
   */
  readonly trustsUnavailable: boolean;
}

const CLIENTS = 8;

/** Clients of a server whose disk may fail: they ask in rounds, all at once, and keep book. */
export class LendingRounds {
  readonly book = new SlotBook();
  /** How often the answer was that nothing could be stored. */
  unavailable = 0;
  readonly #server: ServerUnderTest;
  readonly #options: RoundsOptions;
  readonly #random: Random;

  constructor(server: ServerUnderTest, options: RoundsOptions) {
    this.#server = server;
    this.#options = options;
    this.#random = createRandom(options.seed);
  }

  /** Every client asks once, and all are answered. */
  async run(): Promise<void> {
    await Promise.all(Array.from({ length: CLIENTS }, (_, client) => this.#ask(`user-${client}`)));
  }

  async isHealthy(): Promise<boolean> {
    const { status, body, text } = await this.#server.api.health();
    if (status === 200) return true;
    if (status !== 503 || body.code !== 'store_unavailable') {
      this.book.violations.push(`health answers ${status}: ${text}`);
    }
    return false;
  }

  /** Compares everything that the server holds with everything that it acknowledged. */
  inspect(): Promise<void> {
    return compareWithBook(this.#server.api, this.book);
  }

  async #ask(user: string): Promise<void> {
    const licenseId = pickOne(this.#random, this.#options.licenseIds);
    const operation = pickOperation(this.#random, this.book, licenseId, user);
    this.book.begin(operation);
    const answer = await sendOperation(this.#server.api, operation);
    if (answer.body.code !== 'store_unavailable') {
      this.book.acknowledge(operation, answer);
      return;
    }
    this.unavailable += 1;
    if (answer.status !== 503) this.book.violations.push(`unavailable with ${answer.status}: ${answer.text}`);
    if (this.#options.trustsUnavailable) this.book.dismiss(operation);
  }
}
