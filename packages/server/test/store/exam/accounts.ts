import assert from 'node:assert/strict';
import { SESSION_LIFETIME_MS, TOKEN_LIFETIME_MS } from '../../../src/core/access/token.ts';
import { DAY_MS, HOUR_MS, plus } from '../../../src/core/nouns/instant.ts';
import { attemptKey } from '../../../src/core/nouns/notice-key.ts';
import { NOW } from '../../core/examples.ts';
import type { ExamStore } from './exam-store.ts';

const DONE = { kind: 'done', count: 1 };

const create = (name: string, role: 'admin' | 'operator' | 'user', oneTime = true) =>
  ({ kind: 'create_account', name, role, passwordHash: `hash of ${name}`, oneTime, by: 'server' }) as const;

const signIn = (account: string, tokenHash: string | null, isBrowser = false) =>
  ({
    kind: 'sign_in',
    account,
    address: '::1',
    tokenHash,
    checkedHash: `hash of ${account}`,
    isBrowser,
  }) as const;

const signInPerson = (attempt: string, role: 'admin' | 'operator' | 'viewer' | null) =>
  ({
    kind: 'sign_in_person',
    account: 'oidc:ann',
    subject: 'id of ann',
    address: '::1',
    session: role === null ? null : { tokenHash: `t${attempt}`, role },
    reason: role === null ? 'no role' : null,
    isBrowser: true,
    attempt,
  }) as const;

const setPassword = (account: string, keptToken: string | null, oneTime = false) =>
  ({ kind: 'set_password', account, passwordHash: 'another', oneTime, keptToken, by: 'ada' }) as const;

const createToken = (tokenHash: string, name: string, days: number | null) =>
  ({ kind: 'create_token', tokenHash, name, role: 'user', days, by: 'ada' }) as const;

async function codeOf(exam: ExamStore, command: Parameters<ExamStore['execute']>[0]): Promise<string> {
  const outcome = await exam.execute(command);
  return outcome.kind === 'refused' ? outcome.code : outcome.kind;
}

const findToken = async (exam: ExamStore, tokenHash: string) =>
  (await exam.store.read({ kind: 'find_token', tokenHash }))?.token ?? null;

const listTokenIds = async (exam: ExamStore) =>
  (await exam.store.read({ kind: 'list_tokens', limit: 100 })).map(({ token }) => token.id);

const listKinds = async (exam: ExamStore) => (await exam.listEvents('system')).map(({ kind }) => kind);

export const ACCOUNTS = {
  'an account is created once, and stored as it was created': async (exam: ExamStore) => {
    assert.deepEqual(await exam.execute(create('ada', 'admin')), DONE);
    assert.equal(await codeOf(exam, { ...create('ada', 'user'), passwordHash: 'x' }), 'account_exists');
    const { kind: _, by: __, ...account } = create('ada', 'admin');
    const stored = await exam.store.read({ kind: 'find_account', name: 'ada' });
    const oneTime = { madeAt: NOW, isUsed: false };
    assert.deepEqual(stored, { ...account, products: null, oneTime, secondFactor: null, createdAt: NOW });
    assert.equal(await exam.store.read({ kind: 'find_account', name: 'Ada' }), null);
    assert.deepEqual(await listKinds(exam), ['account_created']);
  },

  'the store says whether somebody has a one-time password': async (exam: ExamStore) => {
    const hasOne = async () => (await exam.store.read({ kind: 'describe_store' })).isOneTimePasswordInUse;
    await exam.execute(create('ada', 'admin', false));
    assert.equal(await hasOne(), false);
    await exam.execute(create('bob', 'user'));
    assert.equal(await hasOne(), true);
    await exam.execute(setPassword('bob', null));
    assert.equal(await hasOne(), false);
  },

  'signing in leaves a token, and failing leaves an event': async (exam: ExamStore) => {
    await exam.execute(create('ada', 'operator'));
    assert.deepEqual(await exam.execute(signIn('ada', null)), { kind: 'done', count: 0 });
    assert.deepEqual(await exam.execute(signIn('nobody', 't0')), { kind: 'done', count: 0 });
    assert.equal(await findToken(exam, 't0'), null);
    await exam.execute(signIn('ada', 't1'));
    const own = { account: 'ada', name: null, role: 'operator', products: null };
    const at = { issuedAt: NOW, usedAt: NOW, isUsed: false, expiresAt: null, restriction: null };
    assert.deepEqual(await findToken(exam, 't1'), { id: 't1', kind: 'auth', ...own, ...at });
    const lastUse = async () => {
      await exam.execute({ kind: 'use_token', tokenHash: 't1' });
      const { usedAt, isUsed } = (await findToken(exam, 't1')) ?? {};
      return { usedAt, isUsed };
    };
    assert.deepEqual(await lastUse(), { usedAt: NOW, isUsed: true }, 'in the moment it was made');
    exam.clock.advance(HOUR_MS - 1);
    assert.deepEqual(await lastUse(), { usedAt: NOW, isUsed: true }, 'once an hour is enough');
    exam.clock.advance(1);
    assert.deepEqual(await lastUse(), { usedAt: plus(NOW, HOUR_MS), isUsed: true });
    await exam.restart();
    assert.equal((await findToken(exam, 't1'))?.isUsed, true);
    const failed = ['sign_in_failed', 'sign_in_failed'];
    assert.deepEqual(await listKinds(exam), ['account_created', ...failed, 'signed_in']);
  },

  'people of a provider have sessions with a role, and no accounts': async (exam: ExamStore) => {
    assert.deepEqual(await exam.execute(signInPerson('1', 'operator')), DONE);
    const own = { id: 't1', kind: 'session', account: 'oidc:ann', name: null, role: 'operator' };
    const at = {
      products: null,
      issuedAt: NOW,
      usedAt: NOW,
      isUsed: false,
      expiresAt: null,
      restriction: null,
    };
    assert.deepEqual(await findToken(exam, 't1'), { ...own, ...at });
    assert.deepEqual(await exam.execute(signInPerson('2', null)), { kind: 'done', count: 0 });
    await exam.restart();
    for (const used of ['1', '2']) {
      const again = { ...signInPerson(used, 'admin'), session: { tokenHash: 'x', role: 'admin' } } as const;
      assert.equal(await codeOf(exam, again), 'sign_in_refused');
    }
    assert.deepEqual(await listTokenIds(exam), ['t1']);
    assert.equal(await exam.store.read({ kind: 'is_set_up' }), false);
    assert.deepEqual(await exam.execute(signInPerson('3', 'admin')), DONE);
    assert.deepEqual(await listTokenIds(exam), ['t3'], 'an administrator ends the setup');
    assert.equal(await exam.store.read({ kind: 'is_set_up' }), true);
    const failed = ['sign_in_failed', 'sign_in_failed', 'sign_in_failed'];
    assert.deepEqual(await listKinds(exam), ['signed_in', ...failed, 'signed_in']);
  },

  'used attempts are forgotten after an hour': async (exam: ExamStore) => {
    const isKnown = async (attempt: string) =>
      (await exam.store.read({ kind: 'find_notice', key: attemptKey(attempt) })) !== null;
    await exam.execute(signInPerson('1', 'viewer'));
    exam.clock.advance(HOUR_MS - 1);
    await exam.execute(signInPerson('2', 'viewer'));
    assert.deepEqual([await isKnown('1'), await isKnown('2')], [true, true]);
    exam.clock.advance(1);
    await exam.execute(signInPerson('3', 'viewer'));
    assert.deepEqual([await isKnown('1'), await isKnown('2'), await isKnown('3')], [false, true, true]);
  },

  'ended tokens are removed at the next sign-in, but not those with a name': async (exam: ExamStore) => {
    await exam.execute(create('ada', 'admin', false));
    await exam.execute(signIn('ada', 'auth'));
    await exam.execute(createToken('named', 'ci', 1));
    exam.clock.advance(TOKEN_LIFETIME_MS - SESSION_LIFETIME_MS);
    await exam.execute(signIn('ada', 'browser', true));
    assert.equal((await findToken(exam, 'browser'))?.kind, 'session');
    exam.clock.advance(SESSION_LIFETIME_MS);
    await exam.execute(signIn('ada', 'new'));
    assert.deepEqual((await listTokenIds(exam)).sort(), ['named', 'new']);
  },

  'replacing a password signs out everybody else': async (exam: ExamStore) => {
    await exam.execute(create('ada', 'admin', false));
    await exam.execute(create('bob', 'admin'));
    for (const [name, token] of [
      ['ada', 'a1'],
      ['ada', 'a2'],
      ['bob', 'b1'],
    ] as const) {
      await exam.execute(signIn(name, token));
    }
    assert.deepEqual(await exam.execute(setPassword('ada', 'a2')), DONE);
    assert.deepEqual((await listTokenIds(exam)).sort(), ['a2', 'b1']);
    const ada = await exam.store.read({ kind: 'find_account', name: 'ada' });
    assert.deepEqual([ada?.passwordHash, ada?.oneTime], ['another', null]);
    assert.equal(await codeOf(exam, setPassword('nobody', null)), 'account_not_found');
  },

  'a sign-in that overlaps a password change fails': async (exam: ExamStore) => {
    await exam.execute(create('ada', 'admin'));
    await exam.execute(setPassword('ada', null));
    assert.deepEqual(await exam.execute(signIn('ada', 'late')), { kind: 'done', count: 0 });
    assert.equal(await findToken(exam, 'late'), null);
    const again = { ...setPassword('ada', null), checkedHash: 'hash of ada' };
    assert.equal(await codeOf(exam, again), 'invalid_credentials', 'nor does an old password change a new');
    assert.deepEqual((await listKinds(exam)).slice(1), ['password_changed', 'sign_in_failed']);
  },

  'a one-time password signs in once, then only to replace it': async (exam: ExamStore) => {
    await exam.execute(create('ada', 'user'));
    assert.deepEqual(await exam.execute(signIn('ada', 't1')), DONE);
    assert.deepEqual(await exam.execute(signIn('ada', 't2')), DONE);
    assert.deepEqual(await exam.execute(signIn('ada', 't3', true)), DONE);
    const restrictions = async (...hashes: string[]) =>
      Promise.all(hashes.map(async (hash) => (await findToken(exam, hash))?.restriction));
    assert.deepEqual(await restrictions('t1', 't2', 't3'), [null, 'password_only', 'password_only']);
    assert.deepEqual(await exam.execute(setPassword('ada', 't2')), DONE);
    assert.deepEqual(await restrictions('t1', 't2', 't3'), [undefined, null, undefined]);
    const again = { ...signIn('ada', 't4'), checkedHash: 'another' };
    assert.deepEqual(await exam.execute(again), DONE);
    assert.deepEqual(await exam.execute({ ...again, tokenHash: 't5' }), DONE);
    assert.deepEqual(
      await restrictions('t4', 't5'),
      [null, null],
      'a password of their own has no such limit',
    );
  },

  'a one-time password ends after seven days, and a new one starts again': async (exam: ExamStore) => {
    await exam.execute(create('ada', 'admin'));
    exam.clock.advance(7 * DAY_MS - 1);
    assert.equal(await codeOf(exam, signIn('ada', 't1')), 'done');
    exam.clock.advance(1);
    assert.equal(await codeOf(exam, signIn('ada', 't2')), 'unauthorized');
    const change = { ...setPassword('ada', null), checkedHash: 'hash of ada' };
    assert.equal(await codeOf(exam, change), 'invalid_credentials');
    assert.deepEqual((await listKinds(exam)).slice(1), ['signed_in', 'sign_in_failed']);
    await exam.execute(setPassword('ada', null, true));
    assert.equal(await codeOf(exam, { ...signIn('ada', 't3'), checkedHash: 'another' }), 'done');
    assert.equal((await findToken(exam, 't3'))?.restriction, null, 'and it signs in once again');
  },

  'a token created without credentials ends with setup, in the same commit': async (exam: ExamStore) => {
    await exam.execute(create('ada', 'admin'));
    const local = { shown: 'nothing' } as const;
    await exam.execute({ ...createToken('h1', 'local', null), ...local });
    await exam.execute(createToken('h2', 'ci', null));
    assert.equal((await findToken(exam, 'h1'))?.restriction, 'until_set_up');
    const created = await exam.listEventsOf('token_created', 'system');
    const ends = created.map((event) => (event as { endsWithSetup?: true }).endsWithSetup);
    assert.deepEqual(ends, [true, undefined]);
    await exam.execute(setPassword('ada', 'h1', true));
    assert.ok(await findToken(exam, 'h1'), 'another one-time password ends nothing');
    await exam.execute(setPassword('ada', 'h1'));
    assert.deepEqual(await listTokenIds(exam), ['h2']);
    assert.equal(await codeOf(exam, { ...createToken('h3', 'late', null), ...local }), 'unauthorized');
    assert.equal(await findToken(exam, 'h3'), null);
  },

  'during setup, credentials also create tokens that end with it, and accounts are signed out': async (
    exam: ExamStore,
  ) => {
    await exam.execute(create('ada', 'admin'));
    await exam.execute(create('eve', 'admin'));
    await exam.execute(signIn('ada', 'a1'));
    await exam.execute(signIn('eve', 'e1'));
    const withCredentials = { shown: 'credentials' } as const;
    await exam.execute({ ...createToken('h1', 'early', null), ...withCredentials });
    await exam.execute(setPassword('ada', 'a1'));
    assert.deepEqual(await listTokenIds(exam), ['a1']);
    await exam.execute({ ...createToken('h2', 'late', null), ...withCredentials });
    assert.equal((await findToken(exam, 'h2'))?.restriction, null);
    await exam.execute({ ...signIn('ada', 'a2'), checkedHash: 'another' });
    await exam.execute(setPassword('eve', null));
    assert.deepEqual((await listTokenIds(exam)).toSorted(), ['a1', 'a2', 'h2'], 'setup ends once');
  },

  'tokens that end soon are listed by their end': async (exam: ExamStore) => {
    for (const days of [9, 1, 3]) await exam.execute(createToken(`h${days}`, `ends in ${days}`, days));
    await exam.execute(createToken('h0', 'without an end', null));
    const list = async (endingWithinMs: number) =>
      (await exam.store.read({ kind: 'list_tokens', limit: 9, endingWithinMs })).map(({ token }) => token.id);
    assert.deepEqual(await list(3 * DAY_MS), ['h1', 'h3']);
    exam.clock.advance(DAY_MS);
    await exam.store.keepClock();
    assert.deepEqual(await list(3 * DAY_MS), ['h3'], 'what has ended is over');
  },

  'a clock reset extends no token': async (exam: ExamStore) => {
    exam.clock.setWall(plus(NOW, 100 * HOUR_MS));
    await exam.execute({ kind: 'accept_clock', by: 'ada' });
    await exam.execute(createToken('h1', 'ci', 1));
    await exam.execute(create('ada', 'admin'));
    exam.clock.setWall(NOW);
    assert.equal((await exam.execute({ kind: 'reset_clock', by: 'ada' })).kind, 'clock_reset');
    const token = await findToken(exam, 'h1');
    const now = await exam.now();
    assert.deepEqual([token?.issuedAt, token?.expiresAt], [now, plus(now, 24 * HOUR_MS)]);
    const account = await exam.store.read({ kind: 'find_account', name: 'ada' });
    assert.equal(account?.oneTime?.madeAt, now, 'nor a one-time password');
  },

  'setup ends with the first own password of an administrator, for good': async (exam: ExamStore) => {
    const isSetUp = () => exam.store.read({ kind: 'is_set_up' });
    await exam.execute(create('ada', 'admin'));
    await exam.execute(create('olga', 'operator', false));
    await exam.execute(setPassword('ada', null, true));
    assert.equal(await isSetUp(), false);
    await exam.execute(setPassword('ada', null));
    assert.equal(await isSetUp(), true);
    await exam.execute(create('bob', 'admin'));
    await exam.execute({ kind: 'remove_account', account: 'ada', by: 'bob' });
    assert.equal(await isSetUp(), true, 'although only a password that was made up is left');
    await exam.restart();
    assert.equal(await isSetUp(), true);
  },

  'a role change applies at once, to tokens too; the last administrator stays': async (exam: ExamStore) => {
    await exam.execute(create('ada', 'admin'));
    await exam.execute(create('bob', 'user'));
    await exam.execute(signIn('bob', 'b1'));
    const setRole = (account: string, role: 'admin' | 'user') =>
      ({ kind: 'set_role', account, role, by: 'ada' }) as const;
    assert.equal(await codeOf(exam, setRole('ada', 'user')), 'last_administrator');
    const remove = { kind: 'remove_account', account: 'ada', by: 'ada' } as const;
    assert.equal(await codeOf(exam, remove), 'last_administrator');
    assert.equal(await codeOf(exam, setRole('nobody', 'user')), 'account_not_found');
    assert.deepEqual(await exam.execute(setRole('bob', 'admin')), DONE);
    assert.equal((await findToken(exam, 'b1'))?.role, 'admin');
    assert.deepEqual(await exam.execute(setRole('bob', 'admin')), { kind: 'done', count: 0 });
    assert.deepEqual(await exam.execute(remove), DONE);
    assert.equal(await codeOf(exam, { ...remove, account: 'bob' }), 'last_administrator');
    const names = (await exam.store.read({ kind: 'list_accounts' })).map(({ name }) => name);
    assert.deepEqual(names, ['bob']);
  },

  'an operator is limited to products, and so are the tokens of the account': async (exam: ExamStore) => {
    const products = ['cad', 'c"a,m'];
    await exam.execute({ ...create('olga', 'operator'), products });
    await exam.execute(signIn('olga', 'o1'));
    await exam.execute({ ...createToken('h1', 'ci', null), role: 'operator', products });
    const person = signInPerson('1', 'operator');
    await exam.execute({ ...person, session: { tokenHash: 't1', role: 'operator', products: ['cam'] } });
    const listLimits = () =>
      Promise.all(['o1', 'h1', 't1'].map(async (hash) => (await findToken(exam, hash))?.products));
    assert.deepEqual(await listLimits(), [products, products, ['cam']]);
    const setRole = { kind: 'set_role', account: 'olga', role: 'operator', by: 'ada' } as const;
    assert.deepEqual(await exam.execute({ ...setRole, products }), { kind: 'done', count: 0 });
    assert.deepEqual(await exam.execute({ ...setRole, products: ['cam'] }), DONE);
    assert.deepEqual(await listLimits(), [['cam'], products, ['cam']], 'at once, and only of the account');
    assert.deepEqual(await exam.execute(setRole), DONE);
    await exam.restart();
    assert.deepEqual(await listLimits(), [null, products, ['cam']]);
    assert.equal((await exam.store.read({ kind: 'find_account', name: 'olga' }))?.products, null);
    const recorded = (await exam.listEvents('system')).map((event) => 'products' in event && event.products);
    assert.deepEqual(recorded, [products, false, products, ['cam'], ['cam'], false]);
  },

  'two administrators who remove each other leave one': async (exam: ExamStore) => {
    await exam.execute(create('ada', 'admin'));
    await exam.execute(create('bob', 'admin'));
    const remove = (account: string) => codeOf(exam, { kind: 'remove_account', account, by: 'x' });
    const codes = await Promise.all([remove('ada'), remove('bob')]);
    assert.deepEqual(codes.sort(), ['done', 'last_administrator']);
  },

  'a token has a name, a role and an end, and is revoked by its id or name': async (exam: ExamStore) => {
    await exam.execute(createToken('h1', 'ci', 90));
    assert.equal(await codeOf(exam, createToken('h2', 'ci', null)), 'token_exists');
    await exam.execute(createToken('h2', 'lab', null));
    const token = await findToken(exam, 'h1');
    assert.deepEqual([token?.kind, token?.name, token?.role, token?.account], ['api', 'ci', 'user', null]);
    assert.equal(token?.expiresAt, plus(NOW, 90 * 24 * HOUR_MS));
    const revoke = (tokenId: string) => codeOf(exam, { kind: 'revoke_token', tokenId, by: 'ada' });
    assert.equal(await revoke('ci'), 'done');
    assert.equal(await revoke('h2'), 'done');
    assert.equal(await revoke('h2'), 'token_not_found');
    assert.deepEqual(await listTokenIds(exam), []);
    const kinds = ['token_created', 'token_created', 'token_revoked', 'token_revoked'];
    assert.deepEqual(await listKinds(exam), kinds);
  },
};
