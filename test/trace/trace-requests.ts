import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { BerthApi } from '../support/berth-api.ts';
import { temporaryFolder } from '../support/server-process.ts';
import { ServerUnderTest } from '../support/server-under-test.ts';
import { useDatabase } from '../support/stores/test-stores.ts';
import { testLicense } from '../support/test-license.ts';
import { CallCounter, type Calls } from './call-counter.ts';

const SOURCES = new URL('../../packages/', import.meta.url);

/** Not the bundle, in which all files are one. */
const PROGRAM = {
  file: process.execPath,
  args: ['--inspect=127.0.0.1:0', fileURLToPath(new URL('../../bin/main.ts', import.meta.url))],
};

/** A request is traced this often. What does not run every time is work in the background. */
const ROUNDS = 5;

export interface Traced {
  /** Of a new user. */
  readonly register: Calls;
  /** Of a user who holds a slot. */
  readonly heartbeat: Calls;
}

interface Traces {
  /** How long the server is watched while nobody asks. */
  readonly idleMs: number;
  /** The URL of an empty database; without it, on SQLite. */
  readonly database?: string;
}

/** What a server runs for requests and does not run otherwise. */
export async function traceRequests({ idleMs, database }: Traces): Promise<Traced> {
  const ends: (() => unknown)[] = [];
  const life = { after: (end: () => unknown) => void ends.unshift(end) };
  try {
    const data = temporaryFolder(life);
    if (database !== undefined) useDatabase(data, database);
    const licenses = [testLicense(1, { slots: 100 })];
    const server = await ServerUnderTest.start(life, { licenses, data, program: PROGRAM });
    const counter = await CallCounter.connect(/ws:\S+/.exec(server.log)?.[0] ?? '', SOURCES.href);
    life.after(() => counter.close());
    // One connection: opening another is not on the way of a request.
    const api = new BerthApi(server.url, { connections: 1 });
    life.after(() => api.close());
    return await traceAll(api, counter, idleMs);
  } finally {
    for (const end of ends) await end();
  }
}

async function traceAll(api: BerthApi, counter: CallCounter, idleMs: number): Promise<Traced> {
  const register = async (user: string) => {
    const { status, text } = await api.register({ user });
    if (status !== 200) throw new Error(`A register was answered with ${status}: ${text}`);
  };
  // What is loaded or prepared only once is not on the way of every request.
  for (const user of ['known', 'other', 'known']) await register(user);
  const registers = await traceOften(counter, (round) => register(`new-${round}`));
  const heartbeats = await traceOften(counter, () => register('known'));
  await sleep(idleMs);
  const idle = await counter.take();
  const withoutIdle = (calls: Calls) => new Map([...calls].filter(([key]) => !idle.has(key)));
  return { register: withoutIdle(registers), heartbeat: withoutIdle(heartbeats) };
}

async function traceOften(counter: CallCounter, send: (round: number) => Promise<void>): Promise<Calls> {
  const rounds: Calls[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await counter.take();
    await send(round);
    rounds.push(await counter.take());
  }
  const least = (key: string) => Math.min(...rounds.map((calls) => calls.get(key) ?? 0));
  const keys = [...(rounds[0] as Calls).keys()];
  return new Map(keys.map((key) => [key, least(key)] as const).filter(([, count]) => count > 0));
}
