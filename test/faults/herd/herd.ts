import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { seedLicenses } from '../../support/server-process.ts';
import { ServerUnderTest } from '../../support/server-under-test.ts';
import { findPostgres, hasPostgres } from '../../support/stores/postgres.ts';
import { useDatabase } from '../../support/stores/test-stores.ts';
import { testLicense } from '../../support/test-license.ts';
import type { Fault, Findings, Life } from '../door/fault.ts';

/** So many come within a millisecond, each with a connection of its own. */
const PER_MS = 2;

/** By default an address may have 2,000 connections. */
const ADDRESSES = 8;

interface Herd {
  readonly statuses: ReadonlyMap<number | string, number>;
  readonly slowestMs: number;
  readonly tookMs: number;
}

async function sendHerd(url: string, size: number): Promise<Herd> {
  const statuses = new Map<number | string, number>();
  const startedMs = performance.now();
  let slowestMs = 0;
  const agent = new Agent({ keepAlive: false });
  const send = async (index: number) => {
    await delay(index / PER_MS);
    const sentMs = performance.now();
    const answer = await register(url, agent, index);
    slowestMs = Math.max(slowestMs, performance.now() - sentMs);
    statuses.set(answer, (statuses.get(answer) ?? 0) + 1);
  };
  await Promise.all(Array.from({ length: size }, (_, index) => send(index)));
  return { statuses, slowestMs, tookMs: performance.now() - startedMs };
}

function register(url: string, agent: Agent, index: number): Promise<number | string> {
  const localAddress = `127.0.0.${2 + (index % ADDRESSES)}`;
  const headers = { 'content-type': 'application/json' };
  return new Promise((resolve) => {
    const sent = request(`${url}/api/v4/register`, { method: 'POST', agent, localAddress, headers });
    sent.on('response', (response) => response.resume().on('end', () => resolve(response.statusCode ?? 0)));
    sent.on('error', ({ message }) => resolve(message));
    sent.end(JSON.stringify({ product: 'cad', user: `user-${index}`, os_hostname: `pc-${index}` }));
  });
}

async function letThemCome(life: Life, size: number, url: string | null): Promise<Findings> {
  const slots = size / 2;
  const server = ServerUnderTest.make(life, undefined, { args: ['--limits-new-slots-per-hour', '0'] });
  if (url !== null) useDatabase(server.data, url);
  await seedLicenses(server.data, [testLicense(1, { slots, timeoutMinutes: 60 })]);
  await server.start();
  const { statuses, slowestMs, tookMs } = await sendHerd(server.url, size);
  const [license] = await server.api.licenses();
  const inUse = license?.floating_in_use;
  const [lent = 0, refused = 0] = [statuses.get(200), statuses.get(400)];
  const code = await server.stop();
  const violations = [
    ...(lent === slots ? [] : [`${lent} of ${slots} slots were lent`]),
    ...(lent + refused === size ? [] : [`answers: ${JSON.stringify(Object.fromEntries(statuses))}`]),
    ...(inUse === slots ? [] : [`the license says that ${inUse} are in use`]),
    ...(code === 0 ? [] : [`the server ended with ${code}`]),
  ];
  const facts = { 'took ms': Math.round(tookMs), 'slowest answer in ms': Math.round(slowestMs) };
  return { count: lent + refused, facts, violations };
}

export const herd: Fault = {
  name: 'herd',
  promise:
    'When twice as many users as there are slots ask at once, every slot is lent and every request is ' +
    'answered.',
  unit: 'registers',
  sizes: { small: 200, full: 10_000 },
  async run({ count, life }) {
    const alone = await letThemCome(life, count, null);
    if (!hasPostgres) return alone;
    const url = await (await findPostgres(life)).createDatabase();
    const shared = await letThemCome(life, count, url);
    const named = Object.entries(shared.facts).map(([name, value]) => [`on PostgreSQL, ${name}`, value]);
    return {
      count: Math.min(alone.count, shared.count),
      facts: { ...alone.facts, ...Object.fromEntries(named) },
      violations: [...alone.violations, ...shared.violations],
    };
  },
};
