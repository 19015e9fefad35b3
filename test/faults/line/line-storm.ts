import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { License } from '../../../packages/server/src/core/nouns/license.ts';
import { INSPECTABLE, readMemoryInUse } from '../../bench/inspect-memory.ts';
import { BerthApi } from '../../support/berth-api.ts';
import { ServerUnderTest } from '../../support/server-under-test.ts';
import { startPostgres } from '../../support/stores/postgres.ts';
import { useDatabase } from '../../support/stores/test-stores.ts';
import { testLicense } from '../../support/test-license.ts';

/**
 * Many wait for a few slots, each holds one for a moment. Says whether they were served in the order in which
 * they came, and how long a slot was not in use in between. By hand:
 *
 *   node test/faults/line/line-storm.ts --waiters 1000 [--by-timeout] [--postgres] [--killed 50]
 *   node test/faults/line/line-storm.ts --waiters 20 --pollers 20 --seconds 60 [--hold-for-retries 2]
 *   node test/faults/line/line-storm.ts --memory 10000
 */
const { values } = parseArgs({
  options: {
    waiters: { type: 'string', default: '1000' },
    pollers: { type: 'string', default: '0' },
    killed: { type: 'string', default: '0' },
    slots: { type: 'string', default: '5' },
    'hold-ms': { type: 'string', default: '1000' },
    'hold-for-retries': { type: 'string', default: '0' },
    seconds: { type: 'string', default: '60' },
    memory: { type: 'string', default: '0' },
    'by-timeout': { type: 'boolean', default: false },
    postgres: { type: 'boolean', default: false },
  },
});

const WAITERS = Number(values.waiters);
const SLOTS = Number(values.slots);
const HOLD_MS = Number(values['hold-ms']);
const WAIT = { prefer: 'return=minimal, wait=50' };

const ends: (() => Promise<void>)[] = [];
const life = { after: (work: () => Promise<void>) => void ends.push(work) };
const violations: string[] = [];

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function sayTimes(what: string, times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN);
  return `${what}: median ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms (${sorted.length})`;
}

function ask(user: string) {
  return { product: 'cad', user };
}

const ARGS = [
  ['--http-max-connections', '25000'],
  ['--http-max-connections-per-address', '25000'],
  ['--lending-max-waiting', '12500'],
  ['--limits-new-slots-per-hour', '0'],
  ['--lending-hold-for-retries', values['hold-for-retries']],
].flat();

async function startServers(license: License): Promise<readonly ServerUnderTest[]> {
  const first = ServerUnderTest.make(life, undefined, { args: ARGS });
  if (!values.postgres) return [await ServerUnderTest.start(life, { licenses: [license], args: ARGS })];
  const postgres = await startPostgres();
  ends.unshift(() => postgres.stop('fast'));
  const url = await postgres.createDatabase('tables');
  useDatabase(first.data, url);
  const started = await ServerUnderTest.start(life, { licenses: [license], args: ARGS, data: first.data });
  const env = { BERTH_MASTER_KEY_FILE: `${first.data}/master.key` };
  const second = ServerUnderTest.make(life, undefined, { args: ARGS, env });
  useDatabase(second.data, url);
  await second.start();
  return [started, second];
}

const apiOf = (server: ServerUnderTest, connections: number) =>
  new BerthApi(server.url, { connections, answerTimeoutMs: 120_000 });

/** Waits as long as it takes. Returns when the slot ends; `null`: there was none before the end. */
async function take(api: BerthApi, user: string, isOver = () => false): Promise<unknown> {
  while (!isOver()) {
    const { status, body } = await api.post('/api/v4/register', ask(user), WAIT);
    if (status === 200) return body.slot_ends_at;
    if (body.code !== 'floating_not_available') violations.push(`${user}: ${JSON.stringify(body)}`);
  }
  return null;
}

async function waitUntilInLine(server: ServerUnderTest, count: () => number): Promise<void> {
  for (;;) {
    const { body } = await server.api.get('/api/admin/line');
    if (Number(body.waiting) >= count()) return;
    await delay(5);
  }
}

/** Clients that disappear while they wait, or when they are about to be served. */
function sendAndKill(server: ServerUnderTest, count: number): void {
  const agent = new Agent({ maxSockets: count });
  for (let index = 0; index < count; index++) {
    const headers = { 'content-type': 'application/json', ...WAIT };
    const sent = request(`${server.url}/api/v4/register`, { method: 'POST', headers, agent });
    sent.on('error', () => {});
    sent.on('response', (response) => response.resume());
    sent.end(JSON.stringify(ask(`killed-${index}`)));
    setTimeout(() => sent.destroy(), Math.random() * 20_000);
  }
}

async function runOrder(): Promise<void> {
  const timeoutMinutes = values['by-timeout'] ? HOLD_MS / 60_000 : 10;
  const servers = await startServers(testLicense(7, { slots: SLOTS, timeoutMinutes }));
  const apis = servers.map((server) => apiOf(server, WAITERS + 50));
  const [server] = servers as [ServerUnderTest];
  const order: number[] = [];
  const freedMs: number[] = [];
  const gaps: number[] = [];
  let held = 0;
  const giveBack = async (api: BerthApi, user: string, endsAt: unknown) => {
    if (values['by-timeout']) {
      freedMs.push(Date.parse(String(endsAt)));
      return;
    }
    await delay(HOLD_MS);
    held -= 1;
    freedMs.push(Date.now());
    await api.unregister(ask(user));
  };
  const tasks: Promise<void>[] = [];
  for (let index = 0; index < WAITERS; index++) {
    const api = apis[index % apis.length] as BerthApi;
    const user = `user-${index}`;
    tasks.push(
      take(api, user).then(async (endsAt) => {
        const nowMs = Date.now();
        order.push(index);
        // The first slots were free.
        const freed = order.length > SLOTS ? freedMs.shift() : undefined;
        if (freed !== undefined) gaps.push(nowMs - freed);
        held += values['by-timeout'] ? 0 : 1;
        if (held > SLOTS) violations.push(`${held} slots of ${SLOTS} are held`);
        await giveBack(api, user, endsAt);
      }),
    );
    // In this order.
    if (values.postgres || index < 50 || index % 50 === 49)
      await waitUntilInLine(server, () => index + 1 - order.length);
  }
  sendAndKill(server, Number(values.killed));
  await Promise.all(tasks);
  const late = order.filter((index, place) => Math.abs(index - place) > SLOTS).length;
  print(`${WAITERS} waiters on ${SLOTS} slots, ${servers.length} server(s), held ${HOLD_MS} ms each`);
  print(`out of order by more than ${SLOTS} places: ${late}`);
  print(sayTimes('a slot was not in use', gaps));
}

/** Those who wait beside those who repeat the call every second. */
async function runBesidePollers(): Promise<void> {
  const [server] = (await startServers(testLicense(7, { slots: SLOTS }))) as [ServerUnderTest];
  const api = apiOf(server, 200);
  const endMs = performance.now() + Number(values.seconds) * 1000;
  const isOver = () => performance.now() > endMs;
  const waits = { waiting: [] as number[], polling: [] as number[] };
  const live = async (kind: keyof typeof waits, user: string) => {
    while (!isOver()) {
      const startedMs = performance.now();
      let isHeld = false;
      if (kind === 'waiting') isHeld = (await take(api, user, isOver)) !== null;
      while (kind === 'polling' && !isHeld && !isOver()) {
        isHeld = (await api.register(ask(user))).status === 200;
        if (!isHeld) await delay(1000);
      }
      if (!isHeld) return;
      waits[kind].push(performance.now() - startedMs);
      await delay(HOLD_MS);
      await api.unregister(ask(user));
    }
  };
  const named = (count: number, name: string) =>
    Array.from({ length: count }, (_, index) => `${name}-${index}`);
  await Promise.all([
    ...named(WAITERS, 'waiter').map((user) => live('waiting', user)),
    ...named(Number(values.pollers), 'poller').map((user) => live('polling', user)),
  ]);
  print(`holdForRetries ${values['hold-for-retries']} s, ${values.seconds} s, ${SLOTS} slots`);
  for (const kind of ['waiting', 'polling'] as const) print(sayTimes(`${kind}, until served`, waits[kind]));
}

/** Without garbage. */
async function readKilobytes(server: ServerUnderTest): Promise<number> {
  return 1024 * ((await readMemoryInUse(server.pid, server.log))?.resident ?? Number.NaN);
}

/** What a waiting client takes beyond an idle connection. */
async function runMemory(count: number): Promise<void> {
  const launch = { licenses: [testLicense(7, { slots: 1 })], args: ARGS, env: INSPECTABLE };
  const server = await ServerUnderTest.start(life, launch);
  await server.api.register(ask('holder'));
  const port = Number(new URL(server.url).port);
  const agents = Array.from({ length: 4 }, (_, index) => ({
    localAddress: `127.0.0.${index + 1}`,
    agent: new Agent({ keepAlive: true, maxSockets: count }),
  }));
  const send = (index: number, product: string) => {
    const { agent, localAddress } = agents[index % agents.length] as (typeof agents)[number];
    const path = '/api/v4/register';
    const headers = { 'content-type': 'application/json', prefer: 'wait=50' };
    const options = { method: 'POST', host: '127.0.0.1', port, path, agent, localAddress, headers };
    return new Promise<void>((resolve) => {
      const sent = request(options);
      sent.on('response', (response) => response.resume().on('end', resolve));
      sent.on('error', () => resolve());
      sent.end(JSON.stringify({ ...ask(`user-${index}`), product }));
    });
  };
  const all = Array.from({ length: count }, (_, index) => index);
  // All at once, so that each has a connection of its own.
  await Promise.all(all.map((index) => send(index, 'nix')));
  const idleKb = await readKilobytes(server);
  const waiting = all.map((index) => send(index, 'cad'));
  await waitUntilInLine(server, () => count);
  const waitingKb = await readKilobytes(server);
  const eachKb = ((waitingKb - idleKb) / count).toFixed(2);
  print(`${count} connections: idle ${idleKb} kB, waiting ${waitingKb} kB, ${eachKb} kB each`);
  await Promise.all(waiting);
  for (const { agent } of agents) agent.destroy();
}

try {
  if (Number(values.memory) > 0) await runMemory(Number(values.memory));
  else if (Number(values.pollers) > 0) await runBesidePollers();
  else await runOrder();
} finally {
  for (const end of ends.reverse()) await end();
}
for (const violation of violations.slice(0, 20)) print(`VIOLATION ${violation}`);
if (violations.length > 0) process.exitCode = 1;
process.exit();
