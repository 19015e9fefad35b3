import type { Answer, BerthApi } from '../../support/berth-api.ts';
import { createRandom, pickNumber, pickOne, type Random } from '../../support/random.ts';
import type { Operation, SlotBook } from './slot-book.ts';

interface StormOptions {
  readonly api: BerthApi;
  readonly book: SlotBook;
  readonly licenseIds: readonly number[];
  readonly clients: number;
  readonly seed: number;
  /** How many users each client speaks for. */
  readonly usersPerClient: number;
}

/** Clients that ask for slots and give them back, each as fast as it is answered, until told to stop. */
export class Storm {
  readonly #options: StormOptions;
  #isOver = false;

  constructor(options: StormOptions) {
    this.#options = options;
  }

  /** Errors from now on are the end of the server, and expected. */
  end(): void {
    this.#isOver = true;
  }

  async run(): Promise<void> {
    const { clients } = this.#options;
    await Promise.all(Array.from({ length: clients }, (_, client) => this.#runClient(client)));
  }

  async #runClient(client: number): Promise<void> {
    const { api, book, seed, usersPerClient, licenseIds } = this.#options;
    const random = createRandom(seed + client);
    const users = Array.from({ length: usersPerClient }, (_, index) => `user-${client}-${index}`);
    while (!this.#isOver) {
      const operation = pickOperation(random, book, pickOne(random, licenseIds), pickOne(random, users));
      book.begin(operation);
      const answer = await sendOperation(api, operation).catch((error: Error) => error);
      if (!(answer instanceof Error)) book.acknowledge(operation, answer);
      else if (!this.#isOver) book.violations.push(`not answered while the server ran: ${answer.message}`);
    }
  }
}

const HOUR_MS = 3_600_000;

/** One who holds a slot mostly renews it or gives it back; one without mostly asks for it. */
export function pickOperation(random: Random, book: SlotBook, licenseId: number, user: string): Operation {
  const dice = random();
  const isHolding = book.isHolding(licenseId, user);
  const unregisters = isHolding ? 0.4 : 0.1;
  if (dice < unregisters) return { kind: 'unregister', licenseId, user, until: null };
  if (dice < unregisters + 0.25) return { kind: 'borrow', licenseId, user, until: pickDate(random) };
  return { kind: 'register', licenseId, user, until: null };
}

function pickDate(random: Random): string {
  return new Date(Date.now() + pickNumber(random, { from: HOUR_MS, to: 100 * HOUR_MS })).toISOString();
}

export function sendOperation(api: BerthApi, operation: Operation): Promise<Answer> {
  const body = { license_id: operation.licenseId, user: operation.user, os_hostname: 'storm' };
  if (operation.kind === 'register') return api.register(body);
  if (operation.kind === 'unregister') return api.unregister(body);
  return api.borrow({ ...body, borrowed_until: operation.until });
}
