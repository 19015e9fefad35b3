import { Client } from '../../../packages/client/src/client.ts';
import type { CountQueue } from '../../../packages/client/src/consumption/count-queue.ts';
import { BerthError } from '../../../packages/client/src/errors.ts';
import type { Borrow } from '../../../packages/client/src/lending/borrow.ts';
import type { FeatureSlot } from '../../../packages/client/src/lending/feature-slot.ts';
import type { Slot } from '../../../packages/client/src/lending/slot.ts';
import { createRandom } from '../../support/random.ts';
import { START } from '../../support/test-app.ts';
import { Machine } from '../simulation/machine.ts';
import type { MachineStorage } from '../simulation/machine-storage.ts';
import type { World } from '../simulation/world.ts';
import type { ClientFacts } from './scenario.ts';
import { type Site, urlOf } from './site.ts';

const EVENTS = ['unreachable', 'reachable', 'denied', 'lost', 'restored'] as const;

/** How a call has ended: `done`, the code of its error, or `waiting`. */
export interface Attempt {
  outcome: string;
}

/**
 * A user of a scenario on a machine of their own. A program may end, and the next one finds what it stored.
 */
export class Actor {
  readonly machine: Machine;
  /** Since they were last looked at. */
  readonly events: string[] = [];
  readonly features = new Map<string, FeatureSlot>();
  slot: Slot | null = null;
  borrow: Borrow | null = null;
  queue: CountQueue | null = null;
  client: Client;
  readonly #makeClient: () => Client;

  constructor(world: World, site: Site, name: string, facts: ClientFacts, storage: MachineStorage) {
    const { machine: hostname = name, user = name, servers } = facts;
    const random = createRandom(1);
    const wallMs = START + world.nowMs;
    this.machine = new Machine(world, { name, random, network: site.network, hostname, storage, wallMs });
    const options = {
      server: servers?.map(urlOf) ?? site.urls,
      product: 'cad',
      user: user ?? undefined,
      vendorKey: site.vendorKey ?? undefined,
      device: facts.device,
      renewEvery: facts.renew_every,
    };
    this.#makeClient = () => new Client(this.machine.environment, options);
    this.client = this.#makeClient();
  }

  try(work: () => Promise<unknown>): Attempt {
    const attempt: Attempt = { outcome: 'waiting' };
    const fail = (error: unknown) => {
      attempt.outcome = error instanceof BerthError ? error.code : String(error);
    };
    work().then(() => {
      attempt.outcome = 'done';
    }, fail);
    return attempt;
  }

  async acquire(options: { wait?: string }): Promise<void> {
    const slot = await this.client.acquire(options);
    this.slot = slot;
    for (const name of EVENTS) slot.on(name, () => this.events.push(name));
  }

  async giveBackAll(): Promise<void> {
    const ends = await Promise.allSettled((await this.client.borrows()).map((borrow) => borrow.giveBack()));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  /** The next program is another one. */
  startAgain(): void {
    this.machine.restart();
    this.client = this.#makeClient();
    Object.assign(this, { slot: null, borrow: null, queue: null });
    this.features.clear();
  }
}
