import { setTimeout as delay } from 'node:timers/promises';
import { DATABASE_NOW } from '../../../packages/server/src/store/postgres/write/transaction.ts';
import { type FakedClock, MINUTE_MS, makeFakedClock } from '../../support/faked-clock.ts';
import type { ServerUnderTest } from '../../support/server-under-test.ts';
import { findPostgres, type TestPostgres } from '../../support/stores/postgres.ts';
import { testLicense } from '../../support/test-license.ts';
import type { Fault, Life } from '../door/fault.ts';
import { FAKED_CLOCK, POSTGRES } from '../door/needs.ts';
import { Fleet } from './fleet.ts';

/** Three servers whose clocks are far apart, on a database whose clock is right. */
interface ClocksOptions {
  readonly postgres: TestPostgres;
  /** One for each server. */
  readonly clocks: readonly FakedClock[];
  /** How long a slot is to live after its last heartbeat: some of its minute may be skipped. */
  readonly seconds: number;
}

interface ClocksReport {
  /** Questions around the end of a slot. */
  readonly asked: number;
  /** From a slot's end to the answer that lent it to the next one. */
  readonly longestDelayMs: number;
  readonly violations: readonly string[];
}

const SHIFTS_MS = [-10 * MINUTE_MS, 0, 10 * MINUTE_MS];

/** Dates are told in whole seconds. Besides, a time lies between asking for it and having the answer. */
const TOLERANCE_MS = 1500;

async function makeClocks(life: Life): Promise<readonly FakedClock[]> {
  const clocks: FakedClock[] = [];
  for (const shiftMs of SHIFTS_MS) {
    const clock = await makeFakedClock(life);
    if (clock === null) throw new Error('This needs libfaketime.');
    clock.set(shiftMs);
    clocks.push(clock);
  }
  return clocks;
}

async function runClocks(life: Life, options: ClocksOptions): Promise<ClocksReport> {
  const { postgres, clocks, seconds } = options;
  const licenses = clocks.map((_, index) =>
    testLicense(index + 1, { product: `product-${index}`, slots: 1, timeoutMinutes: 1 }),
  );
  const envs = clocks.map(({ env }) => env);
  const fleet = await Fleet.start(life, { postgres, size: clocks.length, licenses, envs });
  const violations: string[] = [];
  const askedAt = Date.now();
  const [row] = await fleet.query(`SELECT ${DATABASE_NOW}::text AS now`);
  note(violations, "the database's own clock", Number(row?.now), askedAt);
  for (const [index, server] of fleet.servers.entries()) {
    await compareClock(server, clocks[index]?.shiftMs ?? 0, violations);
  }
  for (const server of fleet.servers) await borrowAround(server, violations);
  const slots = fleet.servers.map((_, index) => new WatchedSlot(fleet, index, violations));
  await Promise.all(slots.map((slot) => slot.watch(seconds)));
  violations.push(...(await fleet.stop()));
  return {
    asked: slots.reduce((sum, { asked }) => sum + asked, 0),
    longestDelayMs: Math.max(...slots.map(({ delayMs }) => delayMs)),
    violations,
  };
}

/** `found` was read between `askedAt` and now, on a clock that is off by `shiftMs`. */
function note(violations: string[], what: string, found: number, askedAt: number, shiftMs = 0): void {
  const at = found - shiftMs;
  const isRight = at >= askedAt - TOLERANCE_MS && at <= Date.now() + TOLERANCE_MS;
  if (!isRight) violations.push(`${what} is off by ${Math.round(at - askedAt)} ms`);
}

/** The date of its answers is that of its own machine; everything else goes by the database. */
async function compareClock(
  { api, url }: ServerUnderTest,
  shiftMs: number,
  violations: string[],
): Promise<void> {
  const askedAt = Date.now();
  const { headers } = await api.health();
  note(violations, `the faked clock of ${url}`, Date.parse(headers?.date ?? ''), askedAt, shiftMs);
  const { server_at: at, jump } = await api.clock();
  note(violations, `the time of ${url}`, Date.parse(at), askedAt);
  if (jump !== null) violations.push(`${url} speaks of a jump: ${JSON.stringify(jump)}`);
}

/** Five minutes ahead of the database, or behind it: whatever the server's own clock says about it. */
async function borrowAround({ api, url }: ServerUnderTest, violations: string[]): Promise<void> {
  const target = { product: 'product-0', user: 'borrower' };
  const ahead = new Date(Date.now() + 5 * MINUTE_MS).toISOString();
  const taken = await api.borrow({ ...target, borrowed_until: ahead });
  if (taken.body.borrowed_until !== ahead) violations.push(`${url} lends nothing ahead: ${taken.text}`);
  const behind = new Date(Date.now() - 5 * MINUTE_MS).toISOString();
  const refused = await api.borrow({ ...target, borrowed_until: behind });
  if (refused.body.code !== 'borrow_until_not_valid')
    violations.push(`${url} takes a date behind: ${refused.text}`);
  const { status, text } = await api.unregister(target);
  if (status !== 200) violations.push(`${url} takes nothing back: ${text}`);
}

/** The only slot of a license, lent by one server, renewed by the next, asked for at all. */
class WatchedSlot {
  asked = 0;
  delayMs = Number.POSITIVE_INFINITY;
  readonly #fleet: Fleet;
  readonly #index: number;
  readonly #violations: string[];

  constructor(fleet: Fleet, index: number, violations: string[]) {
    this.#fleet = fleet;
    this.#index = index;
    this.#violations = violations;
  }

  async watch(seconds: number): Promise<void> {
    const { servers } = this.#fleet;
    await this.#hold(servers[this.#index] as ServerUnderTest);
    await this.#shortenTo(5000);
    await this.#hold(servers[(this.#index + 1) % servers.length] as ServerUnderTest);
    await this.#shortenTo(seconds * 1000);
    await this.#askUntilLent(await this.#readEnd());
  }

  /** A heartbeat through any server is good for a minute, and all servers say so. */
  async #hold({ api, url }: ServerUnderTest): Promise<void> {
    const askedAt = Date.now();
    const { status, text } = await api.register({ product: `product-${this.#index}`, user: 'holder' });
    if (status !== 200) this.#violations.push(`${url} lends nothing: ${text}`);
    for (const other of this.#fleet.servers) {
      const ends = (await this.#listHolders(other)).map(({ ends_at: at }) => Date.parse(at));
      const what = `the end of a slot that ${url} renewed, at ${other.url},`;
      note(this.#violations, what, ends[0] ?? Number.NaN, askedAt, MINUTE_MS);
    }
  }

  async #listHolders({ api }: ServerUnderTest) {
    return (await api.holders()).filter(({ license_id: id }) => id === this.#index + 1);
  }

  /** As if it had got its last heartbeat so long ago that only this much is left. */
  async #shortenTo(millis: number): Promise<void> {
    await this.#fleet.query(
      `UPDATE registration SET ends_at = least(ends_at, ${DATABASE_NOW} + ${millis})
       WHERE license_id = ${this.#index + 1}`,
    );
  }

  async #readEnd(): Promise<number> {
    const id = this.#index + 1;
    const [row] = await this.#fleet.query(`SELECT ends_at FROM registration WHERE license_id = ${id}`);
    return Number(row?.ends_at);
  }

  /** Nobody is lent it before its end, and everybody who asks later is. */
  async #askUntilLent(endsAt: number): Promise<void> {
    for (;;) {
      const server = this.#fleet.servers[this.asked++ % this.#fleet.servers.length] as ServerUnderTest;
      const sentAt = Date.now();
      const { status, text } = await server.api.register({ product: `product-${this.#index}`, user: 'next' });
      if (status === 200) {
        this.delayMs = Date.now() - endsAt;
        if (this.delayMs < 0) this.#violations.push(`${server.url} lent it ${-this.delayMs} ms early`);
        return;
      }
      // The database tells whole milliseconds, rounded down.
      if (sentAt > endsAt + 1) {
        this.#violations.push(`${server.url} refused it ${sentAt - endsAt} ms after its end: ${text}`);
        return;
      }
      await delay(Math.min(100, Math.max(1, (endsAt - Date.now()) / 2)));
    }
  }
}

export const fleetClocks: Fault = {
  name: 'fleet-clocks',
  promises: [4],
  promise:
    "Servers whose clocks are twenty minutes apart use the database's clock: no slot ends early or late.",
  unit: 'seconds that a slot lives',
  sizes: { small: 2, full: 60 },
  needs: [POSTGRES, FAKED_CLOCK],
  async run({ count, life }) {
    const clocks = await makeClocks(life);
    const postgres = await findPostgres(life);
    const { asked, longestDelayMs, violations } = await runClocks(life, { postgres, clocks, seconds: count });
    const idle = asked <= 10 ? [`asked only ${asked} times`] : [];
    const facts = { asked, 'lent again after at most ms': longestDelayMs };
    return { count, facts, violations: [...violations, ...idle] };
  },
};
