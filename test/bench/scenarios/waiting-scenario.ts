import { setTimeout as sleep } from 'node:timers/promises';
import { PRODUCTS, SEEDS } from '../bench-licenses.ts';
import { type BenchRun, type Contested, HEARTBEATS, judgeRate } from '../bench-run.ts';
import { WaitingProcess } from '../load/waiting-process.ts';
import { sum } from '../measurement.ts';
import type { Scenario, Verdict } from '../scenarios.ts';
import { seedFolder } from '../seed-store.ts';
import { type BenchServer, startBerth } from '../servers.ts';

const CLIENTS = 1000;

/** By then all have come. */
const ARRIVAL_SECONDS = 15;

const TURNS = 11;

const WISH = { connections: 64, ...HEARTBEATS };

const MIN_RATE = 0.95;
const RATE_TARGET = `heartbeat beside 1,000 waiting clients: at least ${MIN_RATE} × the rate without them`;
const TAKEN_TARGET = 'a slot that 1,000 clients wait for: taken within 1 s';

/** A user who has a slot and does not renew it in the end, so that it ends by itself. */
class AbsentUser {
  readonly #url: string;
  #endsAtMs = 0;

  constructor({ url }: BenchServer) {
    this.#url = `${url}/api/v4/register`;
  }

  /** Keeps the slot for so long. */
  async stay(seconds: number): Promise<void> {
    if (this.#endsAtMs - Date.now() > seconds * 1000) return;
    const body = JSON.stringify({ product: PRODUCTS.waited, user: 'absent' });
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(this.#url, { method: 'POST', headers, body });
    const { slot_ends_at: endsAt, message } = (await response.json()) as Record<string, string>;
    if (endsAt === undefined) throw new Error(`The absent user got no slot: ${message}`);
    this.#endsAtMs = Date.parse(endsAt);
  }

  get endsAtMs(): number {
    return this.#endsAtMs;
  }
}

interface Site {
  /** Where clients wait. */
  readonly server: BenchServer;
  /** Another one, where nobody does. */
  readonly quiet: BenchServer;
  readonly clients: WaitingProcess;
  readonly absent: AbsentUser;
}

/** Heartbeats by turns, beside clients that wait for slots of another license, and alone. */
async function compareRates(bench: BenchRun, site: Site): Promise<Verdict> {
  const { server, quiet, clients, absent } = site;
  const seconds = Math.min(5, Math.max(1, bench.seconds / 3));
  const prepare = () => absent.stay(4 * seconds + 6);
  await clients.resume();
  const [beside, alone] = (await bench.takeTurns(
    [
      { servers: [server], wish: { ...WISH, label: 'heartbeat, 1,000 clients wait' }, prepare },
      { servers: [quiet], wish: { ...WISH, label: 'heartbeat, nobody waits' }, prepare },
    ],
    { turns: TURNS, seconds },
  )) as [Contested, Contested];
  await clients.pause();
  const ratios = beside.turns.map(({ rate }, turn) => (rate / (alone.turns[turn]?.rate ?? 0)).toFixed(2));
  bench.note('waiting: rates of all turns, beside the clients to alone', ratios.join(' '));
  return judgeRate(RATE_TARGET, beside, alone, MIN_RATE);
}

/** How long a slot was free that has ended by itself, in milliseconds. */
async function measureEnd(bench: BenchRun, { server, clients, absent }: Site): Promise<number> {
  const seconds = (absent.endsAtMs - Date.now()) / 1000 + 1;
  const heartbeats = bench.load([server], { ...WISH, label: 'heartbeat' }, seconds);
  const [{ longestMs }] = await Promise.all([clients.expectEnd(absent.endsAtMs), heartbeats]);
  return longestMs;
}

async function startSeeded(bench: BenchRun): Promise<BenchServer> {
  const data = bench.makeFolder();
  const wanted: readonly string[] = [PRODUCTS.renew, PRODUCTS.waited];
  await seedFolder(
    data,
    SEEDS.filter(({ license }) => wanted.includes(license.product)),
  );
  return bench.keep(await startBerth(data));
}

export const waiting: Scenario = {
  name: 'waiting',
  about:
    'renewals while 1,000 clients of the SDK wait for 5 slots of another license; takes a minute or more',
  isLong: true,
  async run(bench): Promise<readonly Verdict[]> {
    if (process.platform === 'win32') {
      const measured = 'not measured: a process cannot be paused on Windows';
      return [RATE_TARGET, TAKEN_TARGET].map((target) => ({ target, measured, isMet: null }));
    }
    const [server, quiet] = [await startSeeded(bench), await startSeeded(bench)];
    const absent = new AbsentUser(server);
    await absent.stay(ARRIVAL_SECONDS);
    const clients = bench.keep(new WaitingProcess(server.url, PRODUCTS.waited, CLIENTS));
    const site: Site = { server, quiet, clients, absent };
    bench.besides.add(clients.pid);
    await sleep(ARRIVAL_SECONDS * 1000);
    await clients.pause();
    const rate = await compareRates(bench, site);
    const endedMs = await measureEnd(bench, site);
    bench.besides.delete(clients.pid);
    await clients.stop();
    const of = (kind: 'seconds' | 'requests' | 'taken') => sum(clients.tallies.map((tally) => tally[kind]));
    const returnedMs = Math.max(...clients.tallies.map(({ longestMs }) => longestMs));
    bench.note(
      'waiting: requests of the 1,000 clients a second',
      (of('requests') / of('seconds')).toFixed(0),
    );
    bench.note('waiting: slots that were given back and taken', String(of('taken')));
    const error = clients.tallies.map((tally) => tally.error).find((one) => one !== null);
    if (error !== undefined)
      bench.note('waiting: what clients met other than a full license', error as string);
    return [
      rate,
      {
        target: TAKEN_TARGET,
        measured: `${returnedMs.toFixed(0)} ms after a return, ${endedMs.toFixed(0)} ms after an end`,
        isMet: Math.max(returnedMs, endedMs) <= 1000,
      },
    ];
  },
};
