import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  CONTROL,
  FOREIGN,
  openTestApp,
  START,
  type TestApp,
} from '../../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../../test/support/test-license.ts';
import { HOUR_MS, plus } from '../../../../src/core/nouns/instant.ts';
import { licenseId } from '../../../../src/core/nouns/license.ts';
import { ExportCheck } from '../../../../src/services/audit/check-export.ts';
import { searchAudit } from '../../../../src/services/audit/search-audit.ts';
import type { AuditPage, SearchAudit } from '../../../../src/store/query.ts';

type Facts = Readonly<Record<string, unknown>>;

const NOTHING_ASKED = {
  kind: 'search_audit',
  ...{ chains: null, since: null, until: null, user: null, kinds: null, before: null },
} as const;

describe('the audit log', () => {
  async function openBusyApp(t: { after(work: () => unknown): void }): Promise<TestApp> {
    const licenses = [testLicense(1), testLicense(2, { product: 'cam' })];
    const app = await openTestApp(t, { licenses });
    await app.post('/api/v4/borrow', { product: 'cad', user: 'ann', os_hostname: 'h1' });
    await app.post('/api/v4/register', { product: 'cam', user: 'bob' });
    const event = { kind: 'server_started', version: '1' } as const;
    await app.store.execute({ kind: 'record_event', event });
    return app;
  }

  async function listKinds({ get }: TestApp, query: string): Promise<unknown[]> {
    const { events } = (await get(`/api/admin/audit${query}`)).body;
    return (events as Facts[]).map(({ kind }) => kind);
  }

  test('is listed newest first, with names and dates as the API writes them', async (t) => {
    const { get } = await openBusyApp(t);
    const { events } = (await get('/api/admin/audit')).body;
    const [started, lentToBob, borrowed, lent] = events as Facts[];
    const at = new Date(START).toISOString();
    assert.deepEqual(started, { seq: 5, license_id: null, at, kind: 'server_started', version: '1' });
    const who = { by: 'client', origin: '127.0.0.1' };
    const bob = { ...who, seq: 4, license_id: 2, at, kind: 'slot_lent', user: 'bob', hostname: null };
    assert.deepEqual(lentToBob, bob);
    const borrowed_until = new Date(START + 168 * HOUR_MS).toISOString();
    const ann = { ...who, seq: 3, license_id: 1, at, user: 'ann' };
    assert.deepEqual(borrowed, { ...ann, kind: 'slot_borrowed', borrowed_until });
    assert.deepEqual(lent, { ...ann, kind: 'slot_lent', hostname: 'h1' });
  });

  test('can be listed by chain and in pages', async (t) => {
    const app = await openBusyApp(t);
    assert.deepEqual(await listKinds(app, '?chain=system'), ['server_started']);
    assert.deepEqual(await listKinds(app, '?license_id=2'), ['slot_lent', 'license_added']);
    assert.deepEqual(await listKinds(app, '?limit=1'), ['server_started']);
    assert.deepEqual(await listKinds(app, '?limit=1&before=4'), ['slot_borrowed', 'slot_lent']);
    assert.deepEqual(await listKinds(app, '?before=1'), []);
    for (const query of ['?chain=all', '?limit=0', '?limit=x', '?before=-1', '?license_id=1.5']) {
      assert.equal((await app.get(`/api/admin/audit${query}`)).body.code, 'validation_error', query);
    }
  });

  test('is listed in pages of about a thousand events, however they were written', async (t) => {
    const app = await openTestApp(t, { licenses: [testLicense(1, { slots: 5000 })] });
    for (const round of [1, 2, 3]) {
      const users = Array.from({ length: 600 }, (_, index) => `user-${round}-${index}`);
      const aim = { product: 'cad', licenseId: null, host: { hostname: null, address: null, info: null } };
      await Promise.all(users.map((user) => app.store.execute({ kind: 'register', ...aim, user })));
    }
    const sizes: number[] = [];
    const seen = new Set<unknown>();
    for (let before = ''; sizes.at(-1) !== 0; ) {
      const events = (await app.get(`/api/admin/audit${before}`)).body.events as Facts[];
      for (const { user } of events) seen.add(user);
      sizes.push(events.length);
      before = `?before=${events.at(-1)?.seq}`;
    }
    assert.equal(seen.size, 1801, 'every user, and the license that was added');
    assert.ok(Math.max(...sizes) < 1600, `a page holds ${Math.max(...sizes)} events`);
  });

  test('is searched by time, user, kind and license', async (t) => {
    const app = await openBusyApp(t);
    app.clock.advance(24 * HOUR_MS);
    await app.post('/api/admin/bars', { kind: 'user', pattern: 'fay' });
    await app.post('/api/v4/register', { product: 'cam', user: 'fay' });
    const notice = {
      kind: 'license_expiring',
      licenseId: licenseId(2),
      product: 'cam',
      validUntil: plus(START, 1),
    };
    await app.store.execute({ kind: 'note', notice } as never);
    const kinds = (query: string) => listKinds(app, `?${query}`);
    assert.deepEqual(await kinds('user=fay'), ['slot_denied']);
    assert.deepEqual(await kinds('user=fay&since=today'), ['slot_denied']);
    assert.deepEqual(await kinds('user=fay&until=yesterday'), []);
    assert.deepEqual(await kinds('since=1h'), [
      'license_expiring',
      'slot_denied',
      'slot_expired',
      'bar_added',
    ]);
    assert.deepEqual(await kinds('since=1h&user=local'), ['bar_added'], 'who caused it');
    assert.deepEqual(await kinds('search=A'), ['slot_denied', 'bar_added', 'slot_borrowed', 'slot_lent']);
    assert.deepEqual(await kinds('search=FA&since=1h'), ['slot_denied', 'bar_added'], 'and who is barred');
    assert.deepEqual(await kinds('search=H1'), ['slot_lent'], 'a host');
    assert.deepEqual(await kinds('search=slot'), [], 'names only');
    assert.deepEqual(await kinds('until=2030-01-15&kind=slot_lent,slot_denied'), ['slot_lent', 'slot_lent']);
    assert.deepEqual(await kinds('until=2030-01-15T12:00:00Z'), [], 'an end is not included');
    assert.deepEqual(await kinds('license=cam&since=today'), [
      'license_expiring',
      'slot_denied',
      'slot_expired',
    ]);
    assert.deepEqual(await kinds('license=2&kind=slot_lent'), ['slot_lent']);
    assert.deepEqual(await kinds('chain=system&until=yesterday'), ['server_started']);
    for (const [query, code, sentence] of [
      ['since=soon', 'validation_error', /^"since" must be a date, .* 24h or 7d\.$/],
      ['kind=slot_denid', 'validation_error', /no events "slot_denid"\. Did you mean "slot_denied"\?/],
      ['kind=a,b,c,d,e,f', 'validation_error', /no events "a"/],
      ['license=none', 'license_not_found', /no license of the product "none"/],
      ['license=1&chain=system', 'validation_error', /^Send one of/],
    ] as const) {
      const { body } = await app.get(`/api/admin/audit?${query}`);
      assert.equal(body.code, code, query);
      assert.match(String(body.message), sentence);
    }
  });

  test('is searched in bounded steps, and the next one begins where the last one ended', async (t) => {
    const app = await openTestApp(t, { licenses: [testLicense(1, { slots: 5000 })] });
    for (let round = 0; round < 30; round++) {
      await app.store.execute({
        kind: 'record_event',
        event: { kind: 'server_started', version: `${round}` },
      });
    }
    const search = { ...NOTHING_ASKED, scanned: 7, links: 2 };
    const versions: unknown[] = [];
    for (let next: number | null = 1000; next !== null; ) {
      const page: AuditPage = await app.store.read({ ...search, kinds: ['server_started'], before: next });
      for (const { events } of page.links)
        versions.push(...events.map((event) => 'version' in event && event.version));
      assert.ok(page.links.length <= 2);
      assert.ok(page.next === null || page.next < next);
      next = page.next;
    }
    assert.deepEqual(
      versions,
      Array.from({ length: 30 }, (_, index) => `${29 - index}`),
    );
    const { events, next_before } = (await app.get('/api/admin/audit?limit=5')).body;
    assert.deepEqual([(events as Facts[]).length, next_before], [5, (events as Facts[]).at(-1)?.seq]);
  });

  test('ends a search that finds nothing after a bounded number of reads', async () => {
    let reads = 0;
    const store = {
      read: async (query: SearchAudit) => {
        reads += 1;
        return { links: [], next: (query.before ?? 1_000_000) - 100, searched: 100 };
      },
    };
    const found = await searchAudit(store as never, { search: 'server' }, new AbortController().signal);
    assert.deepEqual([reads, found.links, found.next], [200, [], 980_000]);
  });

  test('is verified', async (t) => {
    const { get } = await openBusyApp(t);
    const { body } = await get('/api/admin/audit/verify');
    assert.deepEqual(body, { ok: true, chains: 3, links: 5, events: 6, thinned: 0, problems: [] });
  });

  test('is exported in lines, and not to everybody', async (t) => {
    const { get } = await openBusyApp(t);
    const { status, text, headers } = await get('/api/admin/audit/export');
    assert.equal(status, 200);
    assert.match(headers.get('content-type') ?? '', /^application\/jsonl/);
    const check = new ExportCheck();
    check.take(Buffer.from(text));
    const { ok, links, events, hardwareId, identityKey } = check.end();
    assert.deepEqual([ok, links, events, hardwareId], [true, 5, 6, 'test-machine']);
    assert.equal((await get('/api/admin/status')).body.identity_key, identityKey);
    assert.equal((await get('/api/admin/audit/export', { peer: FOREIGN })).status, 401);
  });

  test('is thinned out up to a date, one chain or all', async (t) => {
    const app = await openBusyApp(t);
    const thin = (body: object) => app.post('/api/admin/audit/thin', body, { peer: CONTROL });
    app.clock.advance(HOUR_MS);
    const before = new Date(START + 1).toISOString();
    assert.deepEqual((await thin({ before: '2030-01-15' })).body, { thinned_links: 0 });
    assert.deepEqual((await thin({ before, license_id: 1 })).body, { thinned_links: 1 });
    assert.deepEqual((await thin({ before, chain: 'system' })).body, { thinned_links: 1 });
    assert.deepEqual((await thin({ before })).body, { thinned_links: 1 });
    const { ok, thinned, links } = (await app.get('/api/admin/audit/verify')).body;
    assert.deepEqual([ok, thinned, links], [true, 3, 5]);
    const [event] = (await app.get('/api/admin/audit')).body.events as Facts[];
    const who = { by: 'control' };
    const at = new Date(START + HOUR_MS).toISOString();
    const told = { kind: 'audit_thinned', before, thinned: [[2, 1, 1]], ...who };
    assert.deepEqual(event, { seq: 8, license_id: null, at, ...told });
  });

  test('is not thinned out by an ambiguous request', async (t) => {
    const app = await openBusyApp(t);
    const before = '2030-01-01';
    const codes: readonly (readonly [object, string])[] = [
      [{}, 'missing_parameters'],
      [{ before: 'yesterday' }, 'validation_error'],
      [{ before: '' }, 'validation_error'],
      [{ before: 20300101 }, 'validation_error'],
      [{ before: '2031-01-01' }, 'validation_error'],
      [{ before, license_id: 1, chain: 'system' }, 'validation_error'],
      [{ before, license_id: 99 }, 'license_not_found'],
    ];
    for (const [body, code] of codes) {
      assert.equal((await app.post('/api/admin/audit/thin', body)).body.code, code, JSON.stringify(body));
    }
    assert.equal((await app.post('/api/admin/audit/thin', { before }, { peer: FOREIGN })).status, 401);
  });
});
