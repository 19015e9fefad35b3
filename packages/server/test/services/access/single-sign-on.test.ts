import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openHostileProvider } from '../../../../../test/support/openid/hostile-provider.ts';
import { PAGE } from '../../../../../test/support/openid/sign-in-site.ts';
import { openTestStore, readEvents } from '../../../../../test/support/test-app.ts';
import { composeSignIn } from '../../../src/compose/compose-sign-in.ts';
import { loadConfig } from '../../../src/config.ts';

const CLIENT_ID = 'berth';

/** Two servers on one store, whose people sign in with the same provider. */
async function openServers(t: Parameters<typeof openTestStore>[0]) {
  const { store, clock } = await openTestStore(t);
  const provider = await openHostileProvider(t, CLIENT_ID);
  const env = {
    BERTH_AUTH_OIDC_ISSUER: provider.issuer,
    BERTH_AUTH_OIDC_CLIENT_ID: CLIENT_ID,
    BERTH_AUTH_OIDC_VIEWERS: 'staff',
  };
  const { config } = loadConfig({ flags: {}, env, file: null });
  const start = () => composeSignIn(store, config, clock, store);
  const begin = async (server: ReturnType<typeof start>) => {
    const { url, attempt } = await server.begin(PAGE);
    provider.meet(url);
    const { searchParams } = new URL(url);
    const query = { code: 'x', state: searchParams.get('state') ?? '', iss: provider.issuer };
    return { attempt, page: PAGE, answer: `${new URLSearchParams(query)}`, address: '10.0.0.1' };
  };
  return { store, provider, servers: [start(), start()] as const, begin };
}

describe('servers on one store', () => {
  test('finish what another one began, once', async (t) => {
    const { store, servers, begin } = await openServers(t);
    const [first, second] = servers;
    const back = await begin(first);
    assert.equal((await second.finish(back)).name, 'oidc:ann');
    for (const server of servers) await assert.rejects(server.finish(back), /was used before/);
    const kinds = (await readEvents(store)).map(({ kind }) => kind);
    assert.deepEqual(kinds, ['signed_in', 'sign_in_failed', 'sign_in_failed']);
  });

  test('give one session to those who come at the same time with the same attempt', async (t) => {
    const { store, servers, begin } = await openServers(t);
    const back = await begin(servers[0]);
    const all = await Promise.allSettled([...servers, ...servers].map((server) => server.finish(back)));
    assert.equal(all.filter(({ status }) => status === 'fulfilled').length, 1);
    assert.equal((await store.read({ kind: 'list_tokens', limit: 10 })).length, 1);
  });
});

test('one address does not make the server ask the provider without end', async (t) => {
  const { servers, provider, begin } = await openServers(t);
  provider.lie({ signed: 'none' });
  const [server] = servers;
  const codes = new Set<string>();
  for (let tries = 0; tries < 102; tries++) {
    await server.finish(await begin(server)).catch(({ code }) => codes.add(code));
  }
  assert.deepEqual([...codes], ['sign_in_refused', 'too_many_requests']);
});
