import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { describe, type TestContext, test } from 'node:test';
import { listen } from '@berth/web/listen';
import { pollUntil } from '../../../../../../test/support/poll.ts';
import {
  CONTROL,
  createAdministrator,
  FOREIGN,
  openTestApp,
  type TestAnswer,
  type TestApp,
} from '../../../../../../test/support/test-app.ts';
import { systemClock } from '../../../../src/store/clock.ts';

const LIMIT = {
  maxConnections: 200,
  maxConnectionsPerAddress: 200,
  trustedProxies: [],
  certificates: null,
  clock: systemClock,
};

/** The app on a real socket; the test triggers the polling for events. */
async function openServer(t: TestContext) {
  const app = await openTestApp(t);
  const server = await listen(app.app, { host: '127.0.0.1', port: 0, ...LIMIT });
  t.after(async () => {
    app.feed.close();
    await server.stop();
  });
  return { ...app, ...server };
}

/** A client that reads the stream as it arrives. */
class Listener {
  text = '';
  readonly incoming: IncomingMessage;

  constructor(incoming: IncomingMessage) {
    this.incoming = incoming.setEncoding('utf8');
    incoming.on('data', (text: string) => {
      this.text += text;
    });
    incoming.on('error', () => {});
  }

  static async open(url: string, query = '', headers = {}, method = 'GET'): Promise<Listener> {
    const outgoing = request(`${url}/api/admin/events${query}`, { headers, method });
    outgoing.end();
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
    return new Listener(incoming);
  }

  get ids(): readonly string[] {
    return Array.from(this.text.matchAll(/^id: (.*)$/gm), ([, id]) => id as string);
  }

  waitFor(text: string): Promise<true> {
    return pollUntil(text, () => this.text.includes(text) || undefined);
  }

  close(): void {
    this.incoming.destroy();
  }
}

async function lend({ post }: Pick<TestApp, 'post'>, ...users: readonly string[]): Promise<void> {
  for (const user of users) await post('/api/v4/borrow', { user });
}

interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  /** Ends them, or takes their role. */
  end(): Promise<TestAnswer>;
}

async function signIn({ post, accounts }: TestApp): Promise<Credentials> {
  const password = await createAdministrator(accounts);
  const answer = await post('/api/admin/session/start', { name: 'admin', password }, { peer: FOREIGN });
  const cookie = (answer.headers.get('set-cookie') ?? '').split(';')[0] as string;
  const headers = { cookie, 'x-berth-csrf': String(answer.body.csrf_token) };
  return { headers: { cookie }, end: () => post('/api/admin/session/end', {}, { peer: FOREIGN, headers }) };
}

async function makeToken({ post }: TestApp): Promise<Credentials> {
  const { body } = await post('/api/admin/tokens/create', { name: 'watch', role: 'operator' }, CONTROLLED);
  const end = () => post('/api/admin/tokens/revoke', { id: 'watch' }, CONTROLLED);
  return { headers: { authorization: `Bearer ${body.token}` }, end };
}

async function makeAccount({ get, post }: TestApp): Promise<Credentials> {
  const made = await post('/api/admin/users/add', { name: 'olga', role: 'operator' }, CONTROLLED);
  const basic = Buffer.from(`olga:${made.body.password}`).toString('base64');
  const { body } = await get('/auth', { peer: FOREIGN, headers: { authorization: `Basic ${basic}` } });
  const end = () => post('/api/admin/users/role', { name: 'olga', role: 'user' }, CONTROLLED);
  return { headers: { authorization: `Bearer ${body.token}` }, end };
}

const CONTROLLED = { peer: CONTROL };

describe('the stream of events ends', () => {
  const kinds = { 'a sign-out': signIn, 'a revoked token': makeToken, 'a role that is gone': makeAccount };
  for (const [what, begin] of Object.entries(kinds)) {
    test(`with its session: ${what}`, async (t) => {
      const server = await openServer(t);
      const { headers, end } = await begin(server);
      const listener = await Listener.open(server.url, '', headers);
      assert.equal(listener.incoming.statusCode, 200);
      await listener.waitFor('retry: ');
      await lend(server, 'ann');
      await server.feed.poll();
      await listener.waitFor('"ann"');
      const ended = once(listener.incoming, 'end');
      assert.equal((await end()).status, 200);
      await lend(server, 'ben');
      await server.feed.poll();
      await ended;
      assert.doesNotMatch(listener.text, /"ben"|token_revoked|role_changed/);
    });
  }
});

describe('the stream of events', () => {
  test('sends each event as the audit log has it, with an id, at once', async (t) => {
    const server = await openServer(t);
    const listener = await Listener.open(server.url);
    assert.equal(listener.incoming.statusCode, 200);
    const { headers } = listener.incoming;
    assert.equal(headers['content-type'], 'text/event-stream; charset=utf-8');
    assert.equal(headers['cache-control'], 'no-store');
    assert.equal(headers['x-accel-buffering'], 'no');
    await listener.waitFor('retry: ');
    await lend(server, 'ann');
    await server.feed.poll();
    await listener.waitFor('slot_borrowed');
    const { events } = (await server.get('/api/admin/audit')).body as { events: object[] };
    const [borrowed, lent] = events;
    assert.equal(
      listener.text,
      'retry: 2000\n\n' +
        `id: 2.0\nevent: slot_lent\ndata: ${JSON.stringify(lent)}\n\n` +
        `id: 2.1\nevent: slot_borrowed\ndata: ${JSON.stringify(borrowed)}\n\n`,
    );
  });

  test('continues after the last event received, however that is given', async (t) => {
    const server = await openServer(t);
    await lend(server, 'ann', 'bob', 'cyd');
    const all = ['1.0', '2.0', '2.1', '3.0', '3.1', '4.0', '4.1'];
    const ways: readonly [string, Record<string, string>, number][] = [
      ['?after=0', {}, 0],
      ['?after=2', {}, 3],
      ['?after=2.0', {}, 2],
      ['', { 'last-event-id': '3.0' }, 4],
      ['?after=0', { 'last-event-id': '4.0' }, 6],
      ['?after=3', { 'last-event-id': '' }, 5],
    ];
    for (const [query, headers, place] of ways) {
      const listener = await Listener.open(server.url, query, headers);
      await listener.waitFor('id: 4.1\n');
      assert.deepEqual(listener.ids, all.slice(place), JSON.stringify([query, headers]));
      listener.close();
    }
  });

  test('is resumed after a cut without a gap or a repeat, while slots are lent', async (t) => {
    const server = await openServer(t);
    const heard: string[] = [];
    for (let round = 0; round < 10; round++) {
      const last = heard.at(-1);
      const headers = last === undefined ? {} : { 'last-event-id': last };
      const listener = await Listener.open(server.url, '?after=0', headers);
      await listener.waitFor('retry: ');
      await lend(server, `user-${round}-a`);
      await server.feed.poll();
      await lend(server, `user-${round}-b`);
      await pollUntil('something new', () => listener.ids.length > 0 || undefined);
      listener.close();
      heard.push(...listener.ids);
    }
    const last = await Listener.open(server.url, '', { 'last-event-id': heard.at(-1) as string });
    const links = await server.store.read({ kind: 'list_audit', chain: null, before: null, limit: 1000 });
    const expected = links.toReversed().flatMap(({ seq, events }) => events.map((_, n) => `${seq}.${n}`));
    if (heard.length < expected.length) await last.waitFor(`id: ${expected.at(-1)}\n`);
    assert.deepEqual([...heard, ...last.ids], expected);
  });

  test('refuses an invalid id', async (t) => {
    const { get } = await openTestApp(t);
    for (const query of ['?after=x', '?after=', '?after=-1', '?after=1&after=2']) {
      assert.equal((await get(`/api/admin/events${query}`)).body.code, 'validation_error', query);
    }
    const answer = await get('/api/admin/events', { headers: { 'last-event-id': 'x' } });
    assert.equal(answer.body.code, 'validation_error');
    assert.equal((await get('/api/admin/events', { peer: FOREIGN })).status, 401);
  });

  test('sends keep-alives', async (t) => {
    const server = await openServer(t);
    const listener = await Listener.open(server.url);
    await listener.waitFor('retry: ');
    await server.feed.beat();
    await listener.waitFor('\n:\n\n');
  });
});

describe('no resources are held for a client that does not listen', () => {
  test('if it goes away', async (t) => {
    const server = await openServer(t);
    const listeners = await Promise.all(Array.from({ length: 25 }, () => Listener.open(server.url)));
    await pollUntil('all are there', () => server.feed.subscriberCount === 25 || undefined);
    for (const listener of listeners) listener.close();
    await pollUntil('all are gone', () => server.feed.subscriberCount === 0 || undefined);
  });

  test('if it only asks for the headers', async (t) => {
    const server = await openServer(t);
    const { incoming } = await Listener.open(server.url, '', {}, 'HEAD');
    assert.equal(incoming.statusCode, 200);
    await once(incoming, 'end');
    assert.equal(server.feed.subscriberCount, 0);
  });

  test('if it is the twenty-sixth of its caller, which has to wait', async (t) => {
    const server = await openServer(t);
    await Promise.all(Array.from({ length: 25 }, () => Listener.open(server.url)));
    await pollUntil('all are there', () => server.feed.subscriberCount === 25 || undefined);
    const listener = await Listener.open(server.url);
    assert.equal(listener.incoming.statusCode, 429);
    await listener.waitFor('"too_many_subscribers"');
  });

  test('when the server stops, the stream ends before it would be cut', async (t) => {
    const app = await openTestApp(t);
    const server = await listen(app.app, { host: '127.0.0.1', port: 0, ...LIMIT });
    const { incoming } = await Listener.open(server.url);
    // A closed connection is an error here.
    const ended = once(incoming, 'end');
    app.feed.close();
    await server.stop();
    await ended;
  });
});
