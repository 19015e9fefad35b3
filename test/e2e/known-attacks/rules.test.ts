import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { HOSTILE_RULES, LARGE_AND_SENSIBLE, WORST_ACCEPTED } from '../../support/hostile-rules.ts';
import { startServerHere } from '../../support/server-here.ts';
import { seedLicenses, temporaryFolder } from '../../support/server-process.ts';
import { testLicense } from '../../support/test-license.ts';

/** One request of a viewer with rules that take long, on a real server with its threads. */

const USERS = 50;

interface Answer {
  readonly code: string;
  readonly message: string;
  readonly token: string;
  readonly errors: readonly { readonly message: string }[];
  readonly expectations: readonly { readonly ok: boolean }[];
}

async function startSite(t: TestContext) {
  const data = join(temporaryFolder(t), 'data');
  await seedLicenses(data, [testLicense(1, { slots: USERS })]);
  const { url, stop } = await startServerHere({ data });
  t.after(stop);
  const post = async (path: string, body: object, init: { token?: string; signal?: AbortSignal } = {}) => {
    const { token, ...rest } = init;
    const headers = {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    const answer = await fetch(`${url}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
      ...rest,
    });
    const read = (await answer.json()) as Answer;
    return { status: answer.status, headers: answer.headers, body: read };
  };
  const beat = async (user = 'user-0') => {
    const { status } = await post('/api/v4/register', { product: 'cad', user });
    assert.equal(status, 200);
  };
  for (let n = 0; n < USERS; n++) await beat(`user-${n}`);
  const createViewer = async (name: string): Promise<string> =>
    (await post('/api/admin/tokens/create', { name, role: 'viewer' })).body.token;
  return { post, beat, createViewer };
}

type Site = Awaited<ReturnType<typeof startSite>>;

/** Heartbeats that are answered one after the other until the work ends: many, unless they wait for it. */
async function countBeats<T>({ beat }: Site, work: Promise<T>): Promise<{ beats: number; answer: T }> {
  let beats = 0;
  let isDone = false;
  const ended = work.finally(() => {
    isDone = true;
  });
  ended.catch(() => {});
  for (; !isDone; beats++) await beat();
  return { beats, answer: await ended };
}

/** A server that is busy with the text answers one or two before it begins. */
const ENOUGH = 10;

const ATTACKED: Readonly<Record<keyof typeof HOSTILE_RULES, readonly ('check' | 'try')[]>> = {
  'a chain of 900 groups over 10,000 names, with 100 expectations': ['check', 'try'],
  'the same with 300 expectations': ['check'],
  '90,000 times the same pattern': ['try'],
  '90,000 patterns': ['try'],
  '490,000 entries': ['check'],
};

describe('rules of a viewer that take long', () => {
  for (const [name, paths] of Object.entries(ATTACKED)) {
    const text = HOSTILE_RULES[name as keyof typeof HOSTILE_RULES];
    test(`${name} keep no heartbeat waiting`, async (t) => {
      const site = await startSite(t);
      const token = await site.createViewer('monitoring');
      for (const path of paths) {
        const { beats, answer } = await countBeats(
          site,
          site.post(`/api/admin/rules/${path}`, { text }, { token }),
        );
        assert.ok(beats >= ENOUGH, `${path}: ${beats} heartbeats`);
        const errors = path === 'check' ? answer.body.errors : [answer.body];
        if (name.startsWith('90,000 times')) assert.equal(answer.status, 200, JSON.stringify(answer.body));
        else assert.match(errors[0]?.message ?? '', /has more than \d+ (members|names|words)/, path);
      }
    });
  }

  test('the worst text that is accepted keeps none waiting', async (t) => {
    const site = await startSite(t);
    const token = await site.createViewer('monitoring');
    for (const path of ['check', 'try'] as const) {
      const { beats, answer } = await countBeats(
        site,
        site.post(`/api/admin/rules/${path}`, { text: WORST_ACCEPTED }, { token }),
      );
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.ok(beats >= ENOUGH, `${path}: ${beats} heartbeats`);
    }
  });

  test('nor does an options file', async (t) => {
    const site = await startSite(t);
    const token = await site.createViewer('monitoring');
    const text = Array.from({ length: 25_000 }, (_, n) => `EXCLUDE cad USER user-${n}\n`).join('');
    const { beats, answer } = await countBeats(
      site,
      site.post('/api/admin/rules/import', { text }, { token }),
    );
    assert.equal(answer.status, 400);
    assert.match(answer.body.message, /at most 10000 are allowed/);
    assert.ok(beats >= ENOUGH, `${beats} heartbeats`);
  });

  test('a large text that makes sense is valid', async (t) => {
    const { post } = await startSite(t);
    const { body } = await post('/api/admin/rules/check', { text: LARGE_AND_SENSIBLE });
    assert.deepEqual(body.errors, []);
    assert.equal(body.expectations.filter(({ ok }) => ok).length, 60);
    assert.equal((await post('/api/admin/rules/apply', { text: LARGE_AND_SENSIBLE })).status, 200);
  });

  test('end when their caller is gone', async (t) => {
    const { post, createViewer } = await startSite(t);
    const token = await createViewer('monitoring');
    const ask = () => post('/api/admin/rules/check', { text: 'deny: {}' }, { token });
    const control = new AbortController();
    const { signal } = control;
    const begin = () => post('/api/admin/rules/try', { text: WORST_ACCEPTED }, { token, signal });
    let [trial, busy] = [begin(), await ask()];
    // The server may have read the other request first, and then refused this one.
    for (let attempt = 0; busy.status !== 429 && attempt < 20; attempt++) {
      await trial;
      [trial, busy] = [begin(), await ask()];
    }
    assert.equal(busy.body.code, 'too_many_requests');
    assert.equal(busy.headers.get('retry-after'), '10');
    control.abort();
    await assert.rejects(trial, { name: 'AbortError' });
    for (let attempt = 0; busy.status !== 200 && attempt < 1000; attempt++) busy = await ask();
    assert.equal(busy.status, 200);
  });
});
