import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exampleFeature, exampleLimits } from '../../packages/server/test/core/examples.ts';
import type { Answer, BerthApi, Facts } from '../support/berth-api.ts';
import { runBerth } from '../support/berth-command.ts';
import { ServerUnderTest } from '../support/server-under-test.ts';
import { describeStores } from '../support/stores/test-stores.ts';
import { testLicense } from '../support/test-license.ts';

const CONNECTIONS = 64;

/** `BERTH_COUNTS` sets another one; `npm run faults -- consumption` counts to 5,000. */
const LIMIT = Number(process.env.BERTH_COUNTS ?? 150);

/** So many that every client is refused some, too. */
const REQUESTS = LIMIT + 5 * CONNECTIONS;

/** Each connection asks as fast as it is answered, until all requests together are sent. */
async function addFromAll(api: BerthApi, path: string, body: Facts): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  let sent = 0;
  const runClient = async (client: number) => {
    while (sent < REQUESTS) {
      sent += 1;
      answers.push(await api.post(path, { ...body, user: `user-${client}` }));
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, client) => runClient(client)));
  return answers;
}

function assertExactly(answers: readonly Answer[], code: string): void {
  assert.equal(answers.length, REQUESTS);
  const accepted = answers.filter(({ status }) => status === 200);
  assert.equal(accepted.length, LIMIT);
  const totals = accepted.map(({ body }) => body.total_consumptions as number).sort((a, b) => a - b);
  assert.deepEqual(
    totals,
    Array.from({ length: LIMIT }, (_, index) => index + 1),
    'every total was told once, and none above the limit',
  );
  for (const { status, body } of answers.filter((answer) => answer.status !== 200)) {
    assert.deepEqual([status, body.code, body.left], [400, code, 0]);
    assert.equal(body.total_consumptions, LIMIT);
  }
}

async function readTotal(
  { api }: ServerUnderTest,
  product: string,
  feature: string | null,
): Promise<unknown> {
  const { body } = await api.get(`/api/v4/license?product=${product}`);
  const features = body.product_features as readonly Facts[];
  const one = feature === null ? body : features.find(({ code }) => code === feature);
  return one?.total_consumptions;
}

describeStores(`64 connections that add 1 against a limit of ${LIMIT}`, () => {
  const limits = exampleLimits({ max: LIMIT });
  const cases = {
    license: { product: 'cad', path: '/api/v4/add_consumption', feature: null },
    feature: { product: 'cam', path: '/api/v4/add_feature_consumption', feature: 'export' },
  };

  test('for a license and for a feature: exactly that many are counted, also after a crash', async (t) => {
    const features = [exampleFeature('export', { consumption: limits })];
    const licenses = [
      testLicense(7, { consumption: limits }),
      testLicense(8, { product: 'cam', consumption: limits, features }),
    ];
    const server = await ServerUnderTest.start(t, { licenses });
    for (const [kind, { product, path, feature }] of Object.entries(cases)) {
      const body = { product, consumptions: 1, feature };
      assertExactly(await addFromAll(server.api, path, body), `${kind}_not_enough_consumptions`);
      assert.equal(await readTotal(server, product, feature), LIMIT);
    }
    const { length } = Object.keys(cases);
    t.diagnostic(JSON.stringify({ requests: length * REQUESTS, 'of these, counted': length * LIMIT }));
    await server.stop('SIGKILL');
    await server.start({ isHere: true });
    for (const [kind, { product, path, feature }] of Object.entries(cases)) {
      assert.equal(await readTotal(server, product, feature), LIMIT);
      const { body: refusal } = await server.api.post(path, { product, consumptions: 1, feature });
      assert.equal(refusal.code, `${kind}_not_enough_consumptions`);
    }
    await server.stop();
    assert.equal((await runBerth(server.data, ['audit', 'verify'])).code, 0);
  });
});
