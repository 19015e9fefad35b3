import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openTestApp } from '../../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../../test/support/test-license.ts';
import { exampleFeature } from '../../../core/examples.ts';

const LICENSES = [testLicense(1, { features: [exampleFeature('render')] })];
const A = { user: 'ann', instance: 'a' };
const B = { user: 'ann', instance: 'b' };

type Post = Awaited<ReturnType<typeof openTestApp>>['post'];

async function answerTo(post: Post, operation: string, body: object) {
  const { status, text, headers } = await post(`/api/v4/${operation}`, body);
  return [status, text, headers.get('content-type')?.split(';')[0]];
}

describe('a return with "instance"', () => {
  test('says how many programs still use the slot', async (t) => {
    const { post } = await openTestApp(t, { licenses: LICENSES });
    for (const body of [A, B]) await post('/api/v4/register', body);
    const left = (programs: number) => [200, `{"code":"user_unregistered","programs":${programs}}`];
    assert.deepEqual((await answerTo(post, 'unregister', A)).slice(0, 2), left(1));
    assert.deepEqual((await answerTo(post, 'unregister', A)).slice(0, 2), left(1));
    assert.deepEqual(await answerTo(post, 'floating/unregister', B), [...left(0), 'application/json']);
    assert.equal((await post('/api/v4/unregister', B)).body.code, 'device_not_found');
  });

  test('does so for features', async (t) => {
    const { post } = await openTestApp(t, { licenses: LICENSES });
    for (const body of [A, B]) {
      await post('/api/v4/register', body);
      assert.equal((await post('/api/v4/featureRegister', { ...body, feature: 'render' })).status, 200);
    }
    const release = (body: object) => answerTo(post, 'featureRelease', { ...body, feature: 'render' });
    assert.equal((await release(A))[1], '{"code":"feature_released","programs":1}');
    assert.equal((await release(B))[1], '{"code":"feature_released","programs":0}');
    assert.equal((await release(B))[0], 400);
  });

  test('leaves a borrow as it is, which a return without it ends', async (t) => {
    const { post, get } = await openTestApp(t, { licenses: LICENSES });
    await post('/api/v4/borrow', A);
    const { body } = await post('/api/v4/unregister', A);
    assert.equal(body.programs, 0);
    const held = (await get('/api/admin/registrations')).body.registrations as readonly object[];
    assert.partialDeepStrictEqual(held, [{ user: 'ann', is_borrowed: true, programs: 0 }]);
    assert.equal((await post('/api/v4/unregister', { user: 'ann' })).text, 'user_unregistered');
  });
});

describe('"instance"', () => {
  test('changes nothing else in an answer', async (t) => {
    const { post } = await openTestApp(t, { licenses: LICENSES });
    const texts = async (facts: object) =>
      Promise.all(
        ['register', 'borrow', 'featureRegister'].map(async (operation) => {
          return (await post(`/api/v4/${operation}`, { user: 'ann', feature: 'render', ...facts })).text;
        }),
      );
    await texts({});
    assert.deepEqual(await texts({ instance: 'a' }), await texts({}));
  });

  test('is counted in the list of slots, and is not shown', async (t) => {
    const { post, get } = await openTestApp(t, { licenses: LICENSES });
    for (const body of [A, B, { user: 'ann' }, { user: 'bob' }]) await post('/api/v4/register', body);
    const { body } = await get('/api/admin/registrations');
    const counts = (body.registrations as { programs: number }[]).map(({ programs }) => programs);
    assert.deepEqual(counts, [3, 1]);
  });

  test('is at most 64 characters of text; blank is none', async (t) => {
    const { post } = await openTestApp(t, { licenses: LICENSES });
    const long = 'ä'.repeat(64);
    assert.equal((await post('/api/v4/register', { user: 'ann', instance: long })).status, 200);
    for (const instance of [`${long}a`, 'a\nb', 7, ['a']]) {
      const { status, body } = await post('/api/v4/register', { user: 'ann', instance });
      assert.deepEqual([status, body.code, body.field], [400, 'validation_error', 'instance']);
    }
    for (const instance of ['', '  ', null]) {
      assert.equal((await post('/api/v4/unregister', { user: 'ann', instance })).text, 'user_unregistered');
      await post('/api/v4/register', { user: 'ann' });
    }
  });
});
