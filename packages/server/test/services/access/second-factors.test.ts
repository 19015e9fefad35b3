import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { PASSWORD_COST } from '../../../../../test/support/administrator.ts';
import { openTestStore, readEvents } from '../../../../../test/support/test-app.ts';
import { createAccounts } from '../../../src/services/access/accounts.ts';
import { codeAt, stepAt } from '../../../src/services/access/one-time-code.ts';

const PASSWORD = 'a password of my own';
const REQUIRED = { code: 'second_factor_required' };
const TOO_EARLY = { code: 'too_many_requests' };

/** A server with "ada", who has a second factor, and "bob", who has none. */
async function setUp(t: TestContext, elsewhere: string | null = null) {
  const { store, clock } = await openTestStore(t);
  const accounts = createAccounts(store, { ...clock, passwordCost: PASSWORD_COST, elsewhere });
  for (const name of ['ada', 'bob']) await accounts.add({ name, role: 'admin', password: PASSWORD }, 'test');
  const { secondFactors } = accounts;
  const readCode = (secret: string, apart = 0) => codeAt(secret, stepAt(clock.readWall()) + apart);
  const confirm = async (account: string, password = PASSWORD) => {
    const { secret } = secondFactors.offer(account, 'Berth');
    const owner = { account, password, address: '::1', keptToken: null };
    const codes = await secondFactors.confirm({ ...owner, secret, code: readCode(secret) }, account);
    return { secret, codes };
  };
  const { secret, codes } = await confirm('ada');
  clock.advance(60_000);
  let place = 0;
  const signIn = (code: string | null, name = 'ada', password = PASSWORD) =>
    accounts.signIn({ name, password, code, address: `10.0.${place >> 8}.${place++ & 255}` });
  return { store, clock, accounts, secondFactors, secret, codes, confirm, signIn, readCode };
}

describe('a second factor', () => {
  test('is asked for only after the right password', async (t) => {
    const { store, signIn, secret, readCode } = await setUp(t);
    for (const code of [null, '000000', readCode(secret)]) {
      assert.equal(await signIn(code, 'ada', 'a wrong password'), null);
    }
    await assert.rejects(signIn(null), REQUIRED);
    assert.ok(await signIn(readCode(secret)));
    assert.ok(await signIn('000000', 'bob'), 'who has none may send anything');
    const kinds = (await readEvents(store)).map(({ kind }) => kind).slice(3);
    const failed = ['sign_in_failed', 'sign_in_failed', 'sign_in_failed'];
    assert.deepEqual(kinds, [...failed, 'second_factor_asked', 'signed_in', 'signed_in']);
  });

  test('takes a code once, and none of another account', async (t) => {
    const { store, signIn, secret, confirm, clock, readCode } = await setUp(t);
    const other = await confirm('bob');
    clock.advance(60_000);
    const code = readCode(secret);
    assert.ok(await signIn(` ${code.slice(0, 3)} ${code.slice(3)} `));
    await assert.rejects(signIn(code), REQUIRED, 'a replay');
    await assert.rejects(signIn(readCode(secret, -1)), REQUIRED, 'the one before');
    await assert.rejects(signIn(readCode(other.secret)), REQUIRED);
    await assert.rejects(signIn(other.codes[0] ?? ''), REQUIRED);
    const last = (await readEvents(store)).at(-1);
    assert.ok(last?.kind === 'sign_in_failed' && /password was right/.test(last.reason ?? ''));
  });

  test('is replaced by each recovery code once', async (t) => {
    const { signIn, codes, accounts } = await setUp(t);
    const [first = '', second = ''] = codes;
    const token = await signIn(first.toUpperCase());
    assert.equal((await accounts.tokens.find(token ?? ''))?.recoveryCodesLeft, 9);
    await assert.rejects(signIn(first), REQUIRED);
    assert.ok(await signIn(second));
  });

  test('lets one of many in who send a code at once', async (t) => {
    const { signIn, secret, readCode } = await setUp(t);
    const code = readCode(secret);
    const tries = await Promise.allSettled(Array.from({ length: 5 }, () => signIn(code)));
    assert.equal(tries.filter(({ status }) => status === 'fulfilled').length, 1);
  });

  test('cannot be guessed from many addresses, and passwords alone do not help', async (t) => {
    const { signIn, clock, secret, readCode, accounts } = await setUp(t);
    const wrong = readCode(secret) === '000000' ? '000001' : '000000';
    for (let count = 0; count < 5; count++) {
      await assert.rejects(signIn(wrong), REQUIRED);
      await assert.rejects(signIn(null), REQUIRED);
      assert.equal(await signIn(wrong, 'ada', 'a wrong password'), null, 'forgets no wrong code');
    }
    await assert.rejects(signIn(wrong), TOO_EARLY);
    assert.equal(await signIn(wrong, 'ada', 'a wrong password'), null, 'does not tell that there is a code');
    let taken = 0;
    for (let second = 0; second < 600; second++) {
      clock.advance(1000);
      await signIn(wrong).catch((error) => {
        if (error.code !== 'too_many_requests') taken += 1;
      });
    }
    assert.ok(taken <= 9, `${taken} guesses in ten minutes`);
    await assert.rejects(signIn(readCode(secret)), TOO_EARLY);
    assert.ok(await signIn(null, 'bob'), 'others are not slowed down');
    clock.advance(300_000);
    assert.ok(await signIn(readCode(secret)));
    assert.equal((await accounts.list()).length, 2);
  });

  test('is set up with the password and a right code, and not twice', async (t) => {
    const { secondFactors, confirm, store, readCode } = await setUp(t);
    await assert.rejects(confirm('bob', 'a wrong password'), { code: 'invalid_credentials' });
    const owner = { account: 'bob', password: PASSWORD, address: '::1', keptToken: null };
    const { secret } = secondFactors.offer('bob', 'Berth');
    const bad = { ...owner, secret, code: readCode(secret, 5) };
    await assert.rejects(secondFactors.confirm(bad, 'bob'), { code: 'validation_error' });
    const short = { ...owner, secret: 'AAAA', code: '000000' };
    await assert.rejects(secondFactors.confirm(short, 'bob'), { code: 'validation_error' });
    assert.equal((await store.read({ kind: 'find_account', name: 'bob' }))?.secondFactor, null);
    await assert.rejects(confirm('ada'), { code: 'forbidden' });
  });

  test('is turned off with password and code, and wrong codes are slowed down there, too', async (t) => {
    const { secondFactors, signIn, secret, readCode } = await setUp(t);
    const turnOff = (code: string, password = PASSWORD) =>
      secondFactors.remove({ account: 'ada', password, code, address: '::1' }, 'ada');
    await assert.rejects(turnOff(readCode(secret), 'a wrong password'), { code: 'invalid_credentials' });
    const wrong = readCode(secret) === '000000' ? '000001' : '000000';
    for (let count = 0; count < 5; count++) {
      assert.equal((await turnOff(wrong)).kind, 'refused');
    }
    await assert.rejects(turnOff(wrong), TOO_EARLY);
    await assert.rejects(signIn(wrong), TOO_EARLY, 'the same guesses');
  });

  test('is removed by an administrator for somebody who lost the device', async (t) => {
    const { secondFactors, signIn } = await setUp(t);
    assert.deepEqual(await secondFactors.reset('ada', 'test'), { kind: 'done', count: 1 });
    assert.deepEqual(await secondFactors.reset('ada', 'test'), { kind: 'done', count: 0 });
    assert.ok(await signIn(null));
  });

  test('outlives a one-time password, which is only the first step', async (t) => {
    const { accounts, signIn, secret, readCode } = await setUp(t);
    const made = await accounts.setPassword('ada', null, 'test');
    const password = (made.kind === 'password_set' && made.oneTimePassword) || '';
    await assert.rejects(signIn(null, 'ada', password), REQUIRED);
    const token = await signIn(readCode(secret), 'ada', password);
    const restriction = async (found: string | null) =>
      (await accounts.tokens.find(found ?? ''))?.restriction;
    assert.equal(await restriction(token), null, 'the first sign-in counts when both steps are done');
    const again = await signIn(readCode(secret, 1), 'ada', password);
    assert.equal(await restriction(again), 'password_only');
  });
});

describe('accounts that work only on the machine itself', () => {
  test('look elsewhere as if the password were wrong, and the audit log says why', async (t) => {
    const { store, accounts } = await setUp(t, 'Keycloak');
    await accounts.add({ name: 'app', role: 'user', password: PASSWORD }, 'test');
    const signIn = (name: string, isHere: boolean, password = PASSWORD) =>
      accounts.signIn({ name, password, isHere, address: '10.9.9.9' });
    const messages = new Set<string>();
    for (const [name, password] of [
      ['bob', PASSWORD],
      ['bob', 'a wrong password'],
      ['nobody', PASSWORD],
      ['ada', PASSWORD],
    ] as const) {
      await assert.rejects(signIn(name, false, password), (error: Error & { code: string }) => {
        messages.add(error.message);
        return error.code === 'unauthorized';
      });
    }
    assert.equal(messages.size, 1);
    assert.match([...messages][0] ?? '', /sign in with Keycloak/);
    const reasons = (await readEvents(store))
      .filter((event) => event.kind === 'sign_in_failed')
      .map((event) => (event as { reason?: string }).reason?.includes('only on the machine itself') ?? false);
    assert.deepEqual(reasons, [true, false, false, true]);
    assert.ok(await signIn('bob', true));
    assert.ok(await signIn('app', false), 'applications are not limited');
  });

  test('are slowed down for right passwords from elsewhere as for wrong ones', async (t) => {
    const { accounts } = await setUp(t, 'Keycloak');
    const signIn = () => accounts.signIn({ name: 'bob', password: PASSWORD, address: '10.9.9.9' });
    for (let count = 0; count < 5; count++) await assert.rejects(signIn(), { code: 'unauthorized' });
    await assert.rejects(signIn(), TOO_EARLY);
  });
});
