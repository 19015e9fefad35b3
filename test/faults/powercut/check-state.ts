import { existsSync, globSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { readBackup } from '@berth/shell/files/backup-file';
import { DEMO_LICENSE } from '../../../packages/server/src/core/nouns/demo-license.ts';
import { startServerHere } from '../../support/server-here.ts';
import { startServerProcess } from '../../support/server-process.ts';
import { ANYTHING, type Count, type Expected } from './book.ts';
import { type Inventory, takeInventory } from './inventory.ts';
import { Line } from './line.ts';
import { checkSecondFactor } from './second-factor.ts';
import { SERVER_ARGS } from './site.ts';
import { COUNTED, SPARE } from './steps.ts';

/** What a cut has left, and what must be found in it. */
export interface State {
  readonly root: string;
  readonly expected: readonly Expected[] | null;
  /** Starts a process on it, as a person would; otherwise a server in this one, which is faster. */
  readonly isProcess: boolean;
}

export interface Verdict {
  /** What is wrong, in sentences. */
  readonly wrong: readonly string[];
  readonly ms: number;
  /** The memory of the process that has checked it. */
  readonly megabytes: number;
}

export async function checkAndRemove(state: State): Promise<Verdict> {
  const startedMs = performance.now();
  const wrong = await checkState(state);
  rmSync(state.root, { recursive: true, force: true });
  const megabytes = process.memoryUsage.rss() / 2 ** 20;
  return { wrong, ms: performance.now() - startedMs, megabytes };
}

/** Starts the server on a state. Returns what is wrong, in sentences. */
async function checkState({ root, expected, isProcess }: State): Promise<readonly string[]> {
  const data = join(root, 'data');
  let server: { readonly url: string; stop(): Promise<unknown> };
  try {
    server = await (isProcess ? startServerProcess : startServerHere)({ data, args: SERVER_ARGS });
  } catch (error) {
    return [`the server does not start: ${error}`];
  }
  const line = new Line(server.url);
  try {
    const wrong = [...(await checkContents(line, expected)), ...(await checkUse(line))];
    wrong.push(...checkPages(data));
    return [...wrong, ...checkBackups(root, expected?.flatMap(({ backups = [] }) => backups) ?? [])];
  } catch (error) {
    return [`the server fails: ${error}`];
  } finally {
    line.close();
    await server.stop();
  }
}

/** One of what is expected must be there in whole. */
async function checkContents(line: Line, expected: readonly Expected[] | null): Promise<readonly string[]> {
  if (expected === null) return [];
  const inventory = await takeInventory(line.get);
  const verdicts: (readonly string[])[] = [];
  for (const one of expected) {
    const wrong = compare(one, inventory);
    if (wrong.length === 0) return checkMeanings(line, one);
    verdicts.push(wrong);
  }
  if (verdicts.length === 1) return verdicts.flat();
  return verdicts.map((wrong) => `neither one nor the other: ${wrong.join('; ')}`);
}

/** What lists do not show. */
async function checkMeanings(line: Line, expected: Expected): Promise<readonly string[]> {
  const checks = [checkCounts, checkTokens, checkSecondFactor];
  const wrong: string[] = [];
  for (const check of checks) wrong.push(...(await check(line, expected)));
  return wrong;
}

/** A server may begin to count a little before its client does. */
const TOLERANCE_MS = 1000;

function compare({ values, ends }: Expected, found: Inventory): readonly string[] {
  const wrong: string[] = [];
  for (const key of new Set([...Object.keys(values), ...Object.keys(found.values)])) {
    const wanted = values[key] ?? [null];
    const actual = found.values[key] ?? null;
    if (wanted.includes(actual) || wanted.includes(ANYTHING)) continue;
    wrong.push(`${key} is ${say(actual)}, but was acknowledged as ${wanted.map(say).join(' or ')}`);
  }
  for (const [key, endMs] of Object.entries(ends)) {
    const early = endMs - TOLERANCE_MS - (found.ends[key] ?? Number.POSITIVE_INFINITY);
    if (early > 0) wrong.push(`${key} ends ${Math.round(early / 1000)} s early`);
  }
  return wrong;
}

function say(value: string | null): string {
  return value === null ? 'not there' : value.slice(0, 60);
}

/** The total has all that was acknowledged; under its key, nothing is counted twice. */
async function checkCounts(line: Line, { counts, totalBefore }: Expected): Promise<readonly string[]> {
  if (counts.length === 0) return [];
  const wrong: string[] = [];
  const [sure, unclear] = [
    counts.filter(({ total }) => total !== null),
    counts.filter(({ total }) => total === null),
  ];
  const sum = (list: readonly Count[]) => list.reduce((all, { amount }) => all + amount, totalBefore);
  const readTotal = async () => {
    const { total_consumptions } = await line.get(`/api/v4/license?product=${COUNTED.product}`);
    return total_consumptions as number;
  };
  const first = await readTotal();
  if (first < sum(sure) || first > sum(counts))
    wrong.push(`the total is ${first}, but ${sum(sure)} were acknowledged`);
  const last = sure.at(-1);
  for (const one of [...unclear, ...(last === undefined ? [] : [last])]) {
    const body = { product: COUNTED.product, consumptions: one.amount };
    const { body: answer } = await line.send({
      path: '/api/v4/add_consumption',
      body,
      headers: { 'idempotency-key': one.key },
    });
    if (one.total === null || answer.total_consumptions === one.total) continue;
    wrong.push(`${one.key} is answered with the total ${answer.total_consumptions}, first with ${one.total}`);
  }
  const total = await readTotal();
  if (total !== sum(counts))
    wrong.push(`the total is ${total} after repeats, but ${sum(counts)} were asked for`);
  return wrong;
}

/** The newest token that was acknowledged is accepted; so is none that was revoked. */
async function checkTokens(line: Line, { tokens, values }: Expected): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const wanted of ['alive', null]) {
    const key = Object.keys(tokens).findLast((one) => values[one]?.length === 1 && values[one][0] === wanted);
    if (key === undefined) continue;
    const headers = { authorization: `Bearer ${tokens[key]}` };
    const { status } = await line.send({ path: '/api/admin/status', body: null, headers });
    const isAccepted = status !== 401;
    if (isAccepted !== (wanted === 'alive')) wrong.push(`${key} is ${isAccepted ? '' : 'not '}accepted`);
  }
  return wrong;
}

/** The audit log is whole, and a slot can be lent. */
async function checkUse(line: Line): Promise<readonly string[]> {
  const wrong: string[] = [];
  const verdict = await line.get('/api/admin/audit/verify');
  if (verdict.ok !== true) wrong.push(`the audit log is broken: ${JSON.stringify(verdict)}`);
  const ask = (license_id: number) =>
    line.send({ path: '/api/v4/register', body: { license_id, user: 'after the cut' } });
  let { status, body } = await ask(SPARE.id);
  if (status === 404 || body.code === 'license_not_found') {
    await line.send({ path: '/api/admin/licenses/add-demo', body: {} });
    ({ status, body } = await ask(DEMO_LICENSE.id));
  }
  const isFull = body.code === 'floating_not_available';
  if (status !== 200 && !isFull) wrong.push(`nothing can be lent: ${JSON.stringify(body)}`);
  return wrong;
}

/** A backup that has its name is whole, whoever made it. */
function checkBackups(root: string, promised: readonly string[]): readonly string[] {
  const wrong = promised
    .filter((file) => !existsSync(join(root, file)))
    .map((file) => `${file} is not there`);
  for (const file of globSync('**/*.backup', { cwd: root })) {
    try {
      readBackup(join(root, file), () => {});
    } catch (error) {
      wrong.push(`${file}: ${error}`);
    }
  }
  return wrong;
}

function checkPages(data: string): readonly string[] {
  const db = new DatabaseSync(join(data, 'berth.db'), { readOnly: true });
  const verdict = db.prepare('PRAGMA integrity_check').get()?.integrity_check;
  db.close();
  return verdict === 'ok' ? [] : [`the database is damaged: ${verdict}`];
}
