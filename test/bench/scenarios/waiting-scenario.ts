import { setTimeout as sleep } from 'node:timers/promises';
import { PRODUCTS } from '../bench-licenses.ts';
import { type BenchRun, type Contested, cpuRatio, HEARTBEATS, rateRatio, showMiddle } from '../bench-run.ts';
import { WaitingProcess } from '../load/waiting-process.ts';
import { sum } from '../measurement.ts';
import type { Scenario, Verdict } from '../scenarios.ts';
import type { BenchServer } from '../servers.ts';

const CLIENTS = 1000;

/** By then all have come, and ask at the rate that the server wants. */
const ARRIVAL_SECONDS = 15;

const TURNS = 10;

const WISH = { connections: 64, ...HEARTBEATS };

const MAX_COST = 1.05;
const CLIENTS_WAIT = 'heartbeat beside 1,000 waiting clients';
const COST_TARGET = `${CLIENTS_WAIT}: at most ${MAX_COST} × the CPU time without them`;
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
  readonly server: BenchServer;
  readonly clients: WaitingProcess;
  readonly absent: AbsentUser;
}

/** Heartbeats by turns, with and without clients that wait for slots of another license. */
async function compareCosts(bench: BenchRun, { server, clients, absent }: Site): Promise<Verdict> {
  const servers = [server];
  const seconds = Math.min(5, Math.max(1, bench.seconds / 3));
  const resume = async () => {
    await absent.stay(4 * seconds + 6);
    await clients.resume();
  };
  const [beside, alone] = (await bench.takeTurns(
    [
      { servers, wish: { ...WISH, label: 'heartbeat, 1,000 clients wait' }, prepare: resume },
      { servers, wish: { ...WISH, label: 'heartbeat, nobody waits' }, prepare: clients.pause },
    ],
    { turns: TURNS, seconds },
  )) as [Contested, Contested];
  await clients.pause();
  return judgeCost(beside, alone);
}

/** By the server's processor time: the clients take that of the load generator, which lowers the rate. */
function judgeCost(beside: Contested, alone: Contested): Verdict {
  const rate = `rate ${showMiddle(rateRatio(beside, alone))}`;
  const cpu = cpuRatio(beside, alone);
  if (cpu === null) return { target: COST_TARGET, measured: rate, isMet: null };
  return { target: COST_TARGET, measured: `CPU ${cpu.toFixed(2)} ×, ${rate}`, isMet: cpu <= MAX_COST };
}

/** How long a slot was free that has ended by itself, in milliseconds. */
async function measureEnd(bench: BenchRun, { server, clients, absent }: Site): Promise<number> {
  const seconds = (absent.endsAtMs - Date.now()) / 1000 + 1;
  const heartbeats = bench.load([server], { ...WISH, label: 'heartbeat' }, seconds);
  const [{ longestMs }] = await Promise.all([clients.expectEnd(absent.endsAtMs), heartbeats]);
  return longestMs;
}

export const waiting: Scenario = {
  name: 'waiting',
  about:
    'renewals while 1,000 clients of the SDK wait for 5 slots of another license; takes a minute or more',
  isLong: true,
  async run(bench): Promise<readonly Verdict[]> {
    if (process.platform === 'win32') {
      const measured = 'not measured: a process cannot be paused on Windows';
      return [COST_TARGET, TAKEN_TARGET].map((target) => ({ target, measured, isMet: null }));
    }
    const server = await bench.berth();
    const absent = new AbsentUser(server);
    await absent.stay(ARRIVAL_SECONDS);
    const clients = bench.keep(new WaitingProcess(server.url, PRODUCTS.waited, CLIENTS));
    const site: Site = { server, clients, absent };
    bench.besides.add(clients.pid);
    await sleep(ARRIVAL_SECONDS * 1000);
    await clients.pause();
    const cost = await compareCosts(bench, site);
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
      cost,
      {
        target: TAKEN_TARGET,
        measured: `${returnedMs.toFixed(0)} ms after a return, ${endedMs.toFixed(0)} ms after an end`,
        isMet: Math.max(returnedMs, endedMs) <= 1000,
      },
    ];
  },
};
