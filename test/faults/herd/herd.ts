import { Agent, type IncomingMessage, request } from 'node:http';
import { json as readJson } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import type { Facts } from '../../support/berth-api.ts';
import { seedLicenses } from '../../support/server-process.ts';
import { ServerUnderTest } from '../../support/server-under-test.ts';
import { findPostgres, hasPostgres } from '../../support/stores/postgres.ts';
import { useDatabase } from '../../support/stores/test-stores.ts';
import { testLicense } from '../../support/test-license.ts';
import type { Fault, Findings, Order } from '../door/fault.ts';

/** So many come within a millisecond, each with a connection of its own. */
const PER_MS = 2;

/** From the first request to the last answer. The suite, whose machine is busy, does not measure. */
const LONGEST_MS = 10_000;

/** By default an address may have 2,000 connections. */
const ADDRESSES = 8;

interface Herd {
  /** How often there was which answer: "lent", the code of a refusal, or what went wrong. */
  readonly answers: ReadonlyMap<string, number>;
  readonly slowestMs: number;
  readonly tookMs: number;
}

async function sendHerd(url: string, size: number): Promise<Herd> {
  const answers = new Map<string, number>();
  const startedMs = performance.now();
  let slowestMs = 0;
  const agent = new Agent({ keepAlive: false });
  const send = async (index: number) => {
    await delay(index / PER_MS);
    const sentMs = performance.now();
    const answer = await register(url, agent, index);
    slowestMs = Math.max(slowestMs, performance.now() - sentMs);
    answers.set(answer, (answers.get(answer) ?? 0) + 1);
  };
  await Promise.all(Array.from({ length: size }, (_, index) => send(index)));
  return { answers, slowestMs, tookMs: performance.now() - startedMs };
}

function register(url: string, agent: Agent, index: number): Promise<string> {
  const localAddress = `127.0.0.${2 + (index % ADDRESSES)}`;
  const headers = { 'content-type': 'application/json' };
  return new Promise((resolve) => {
    const sent = request(`${url}/api/v4/register`, { method: 'POST', agent, localAddress, headers });
    sent.on('response', async (response) => resolve(await readAnswer(response)));
    sent.on('error', ({ message }) => resolve(message));
    sent.end(JSON.stringify({ product: 'cad', user: `user-${index}`, os_hostname: `pc-${index}` }));
  });
}

async function readAnswer(response: IncomingMessage): Promise<string> {
  try {
    const body = await readJson(response);
    return response.statusCode === 200 ? 'lent' : String((body as Facts).code);
  } catch (error) {
    return (error as Error).message;
  }
}

async function letThemCome({ count, size, life }: Order, url: string | null): Promise<Findings> {
  const slots = count / 2;
  const server = ServerUnderTest.make(life, undefined, { args: ['--limits-new-slots-per-hour', '0'] });
  if (url !== null) useDatabase(server.data, url);
  await seedLicenses(server.data, [testLicense(1, { slots, timeoutMinutes: 60 })]);
  await server.start();
  const { answers, slowestMs, tookMs } = await sendHerd(server.url, count);
  const [license] = await server.api.licenses();
  const inUse = license?.floating_in_use;
  const [lent = 0, refused = 0] = [answers.get('lent'), answers.get('floating_not_available')];
  const code = await server.stop();
  const violations = [
    ...(lent === slots ? [] : [`${lent} of ${slots} slots were lent`]),
    ...(lent + refused === count ? [] : [`answers: ${JSON.stringify(Object.fromEntries(answers))}`]),
    ...(size === 'small' || tookMs <= LONGEST_MS ? [] : [`it took ${Math.round(tookMs)} ms`]),
    ...(inUse === slots ? [] : [`the license says that ${inUse} are in use`]),
    ...(code === 0 ? [] : [`the server ended with ${code}`]),
  ];
  const facts = { 'took ms': Math.round(tookMs), 'slowest answer in ms': Math.round(slowestMs) };
  return { count: lent + refused, facts, violations };
}

export const herd: Fault = {
  name: 'herd',
  promises: [1],
  promise:
    'When 10,000 users arrive within five seconds for 5,000 slots, every slot is lent and every request is ' +
    'answered within ten seconds.',
  unit: 'registers',
  sizes: { small: 200, full: 10_000 },
  async run(order) {
    const alone = await letThemCome(order, null);
    if (!hasPostgres) return alone;
    const url = await (await findPostgres(order.life)).createDatabase();
    const shared = await letThemCome(order, url);
    const named = Object.entries(shared.facts).map(([name, value]) => [`on PostgreSQL, ${name}`, value]);
    return {
      count: Math.min(alone.count, shared.count),
      facts: { ...alone.facts, ...Object.fromEntries(named) },
      violations: [...alone.violations, ...shared.violations],
    };
  },
};
