import assert from 'node:assert/strict';
import { before, describe, type TestContext, test } from 'node:test';
import { derivePassword, formatHash } from '@berth/shell/password-hash';
import { createTestCloud, START } from '../../../../test/support/cloud/test-cloud.ts';
import { changeLicense } from '../../src/store/licenses.ts';
import { hashPassword, isPassword } from '../../src/store/passwords.ts';

const PASSWORD = 'correct horse';
const ANN = { product: 'crm', username: 'ann@example.com', hardware_id: 'machine-1' };

let passwordHash: string;
before(async () => {
  passwordHash = await hashPassword(PASSWORD);
});

function createUserCloud(t: TestContext) {
  const cloud = createTestCloud(t);
  const user = { name: ANN.username, passwordHash };
  const key = cloud.grant({ type: 'consumption', consumption: { max: 10 } }, { product: 'crm', user });
  return { cloud, key };
}

describe('a license of a user', () => {
  test('is activated with the password, and then identified by the name alone', async (t) => {
    const { cloud } = createUserCloud(t);
    assert.equal((await cloud.post('activate_license', { ...ANN, password: PASSWORD })).status, 200);
    assert.equal((await cloud.get('check_license', ANN)).status, 200);
    assert.equal((await cloud.post('add_consumption', { ...ANN, consumptions: 1 })).status, 200);
    assert.equal((await cloud.post('deactivate_license', ANN)).text, 'license_deactivated');
  });

  for (const [title, fields] of [
    ['a wrong password', { ...ANN, password: 'battery staple' }],
    ['an unknown user', { ...ANN, username: 'bob@example.com', password: PASSWORD }],
  ] as const) {
    test(`${title} is refused with the same words`, async (t) => {
      const { cloud } = createUserCloud(t);
      const { status, body } = await cloud.post('activate_license', fields);
      assert.equal(status, 400);
      assert.deepEqual(body, {
        status: 400,
        code: 'invalid_credentials',
        message: 'The user name or the password is wrong.',
      });
    });
  }

  test('a wrong password is also refused on a machine that has the license', async (t) => {
    const { cloud } = createUserCloud(t);
    await cloud.post('activate_license', { ...ANN, password: PASSWORD });
    const { body } = await cloud.get('check_license', { ...ANN, password: 'battery staple' });
    assert.equal(body.code, 'invalid_credentials');
  });

  test('a password is stored with the cost of a guess, which may grow', async () => {
    assert.match(passwordHash, /^scrypt\$32768\$8\$1\$/);
    const [salt, cost] = [Buffer.alloc(16, 1), { N: 4, r: 1, p: 1 }];
    const hash = formatHash({ cost, salt, key: await derivePassword(PASSWORD, salt, cost) });
    assert.deepEqual([await isPassword(PASSWORD, hash), await isPassword('another', hash)], [true, false]);
  });

  test('the name alone reveals nothing about a machine without it', async (t) => {
    const { cloud } = createUserCloud(t);
    assert.equal((await cloud.get('check_license', ANN)).body.code, 'invalid_credentials');
    const nobody = { ...ANN, username: 'bob@example.com' };
    assert.equal((await cloud.get('check_license', nobody)).body.code, 'invalid_credentials');
    await cloud.post('activate_license', { ...ANN, password: PASSWORD });
    const elsewhere = { ...ANN, hardware_id: 'machine-2', password: PASSWORD };
    assert.equal((await cloud.get('check_license', elsewhere)).body.code, 'device_not_found');
  });

  test('an activation needs the password', async (t) => {
    const { cloud } = createUserCloud(t);
    const first = await cloud.post('activate_license', ANN);
    assert.deepEqual([first.body.code, first.body.field], ['missing_parameters', 'password']);
    await cloud.post('activate_license', { ...ANN, password: PASSWORD });
    assert.equal((await cloud.post('activate_license', ANN)).body.code, 'missing_parameters');
  });

  test('the key cannot replace the password', async (t) => {
    const { cloud, key } = createUserCloud(t);
    const fields = { product: 'crm', license_key: key, hardware_id: 'machine-1' };
    assert.equal((await cloud.post('activate_license', fields)).body.code, 'license_not_found');
  });

  test('a new password replaces the old one', async (t) => {
    const { cloud, key } = createUserCloud(t);
    const user = { name: ANN.username, passwordHash: await hashPassword('a new password') };
    changeLicense(cloud.folder.store, { key, user, terms: {} }, START);
    const old = await cloud.post('activate_license', { ...ANN, password: PASSWORD });
    assert.equal(old.body.code, 'invalid_credentials');
    assert.equal((await cloud.post('activate_license', { ...ANN, password: 'a new password' })).status, 200);
  });
});
