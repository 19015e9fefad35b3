import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AdminClient } from '../../src/cli/admin-client.ts';
import { licenseOf, scopeOf, suggestLicenses } from '../../src/cli/choose-license.ts';

const LICENSES = [
  [4711, 'cad', 'Kestrel CAD'],
  [4712, 'cad', 'Kestrel CAD'],
  [58, 'cam', 'Kestrel CAM'],
  [5, 'sim', 'Flow'],
] as const;

const client = {
  get: async () => ({
    ok: true,
    body: {
      licenses: LICENSES.map(([id, product, name]) => ({
        id,
        product,
        product_details: { product_name: name },
      })),
    },
  }),
} as unknown as AdminClient;

const refusal = (work: Promise<unknown>) =>
  work.then(
    () => assert.fail(),
    (error: Error) => error.message,
  );

describe('--product and --license', () => {
  for (const [title, flags, product, license] of [
    ['nothing', {}, undefined, undefined],
    ['a product', { product: 'cad' }, 'cad', undefined],
    ['a part of its code, in any case', { product: 'SI' }, 'sim', undefined],
    ['a part of its name', { product: 'flow' }, 'sim', undefined],
    ['an id', { license: '4711' }, undefined, 4711],
    ['the older flag', { 'license-id': '4711' }, undefined, 4711],
    ['an id that is a part of another one', { license: '5' }, undefined, 5],
    ['a unique part of an id', { license: '8' }, undefined, 58],
    ['a product for --license', { license: 'cam' }, 'cam', undefined],
    ['the id of a removed license', { license: '99' }, undefined, '99'],
  ] as const) {
    test(`mean ${title}`, async () => {
      assert.deepEqual(await scopeOf(client, flags), { product, license_id: license });
    });
  }

  test('are refused with the candidates if several are meant', async () => {
    assert.equal(
      await refusal(scopeOf(client, { product: 'kestrel' })),
      '"kestrel" may be cad, cam. Type more of it.',
    );
    assert.equal(
      await refusal(scopeOf(client, { license: '471' })),
      '"471" may be 4711 (cad), 4712 (cad). Type more of it.',
    );
    assert.equal(
      await refusal(licenseOf(client, { product: 'cad' })),
      '"cad" has several licenses. Choose one with --license: 4711 (cad), 4712 (cad).',
    );
    assert.equal(await licenseOf(client, { product: 'cam' }), 58);
  });

  test('that mean nothing are refused with what there is', async () => {
    assert.match(
      await refusal(scopeOf(client, { product: 'x' })),
      /like "x"\. It has licenses for cad, cam, sim\.$/,
    );
  });

  test('an id that must be whole is suggested', async () => {
    assert.equal(await suggestLicenses(client, '471'), ' Did you mean 4711 (cad), 4712 (cad)?');
    assert.equal(await suggestLicenses(client, '99'), '');
  });
});
