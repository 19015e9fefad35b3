import assert from 'node:assert/strict';
import { SESSION_LIFETIME_MS, TOKEN_LIFETIME_MS } from '../../core/access/token.ts';
import { NOW } from '../../core/examples.ts';
import { DAY_MS, HOUR_MS, plus } from '../../core/nouns/instant.ts';
import type { Bench } from './exam-store.ts';

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

const setPassword = (account: string, keptToken: string | null, oneTime = false) =>
  ({ kind: 'set_password', account, passwordHash: 'another', oneTime, keptToken, by: 'ada' }) as const;

const createToken = (tokenHash: string, name: string, days: number | null) =>
  ({ kind: 'create_token', tokenHash, name, role: 'user', days, by: 'ada' }) as const;

async function codeOf(bench: Bench, command: Parameters<Bench['execute']>[0]): Promise<string> {
  const outcome = await bench.execute(command);
  return outcome.kind === 'refused' ? outcome.code : outcome.kind;
}

const findToken = async (bench: Bench, tokenHash: string) =>
  (await bench.store.read({ kind: 'find_token', tokenHash }))?.token ?? null;

const listTokenIds = async (bench: Bench) =>
  (await bench.store.read({ kind: 'list_tokens', limit: 100 })).map(({ token }) => token.id);

const listKinds = async (bench: Bench) => (await bench.listEvents('system')).map(({ kind }) => kind);

export const ACCOUNTS = {
  'an account is made once, and kept as it was made': async (bench: Bench) => {
    assert.deepEqual(await bench.execute(create('ada', 'admin')), DONE);
    assert.equal(await codeOf(bench, { ...create('ada', 'user'), passwordHash: 'x' }), 'account_exists');
    const { kind: _, by: __, ...account } = create('ada', 'admin');
    const stored = await bench.store.read({ kind: 'find_account', name: 'ada' });
    const oneTime = { madeAt: NOW, isUsed: false };
    assert.deepEqual(stored, { ...account, oneTime, createdAt: NOW });
    assert.equal(await bench.store.read({ kind: 'find_account', name: 'Ada' }), null);
    assert.deepEqual(await listKinds(bench), ['account_created']);
  },

  'signing in leaves a token, and failing to an event': async (bench: Bench) => {
    await bench.execute(create('ada', 'operator'));
    assert.deepEqual(await bench.execute(signIn('ada', null)), { kind: 'done', count: 0 });
    assert.deepEqual(await bench.execute(signIn('nobody', 't0')), { kind: 'done', count: 0 });
    assert.equal(await findToken(bench, 't0'), null);
    await bench.execute(signIn('ada', 't1'));
    const own = { account: 'ada', name: null, role: 'operator' };
    const at = { issuedAt: NOW, usedAt: NOW, isUsed: false, expiresAt: null, restriction: null };
    assert.deepEqual(await findToken(bench, 't1'), { id: 't1', kind: 'auth', ...own, ...at });
    const lastUse = async () => {
      await bench.execute({ kind: 'use_token', tokenHash: 't1' });
      const { usedAt, isUsed } = (await findToken(bench, 't1')) ?? {};
      return { usedAt, isUsed };
    };
    assert.deepEqual(await lastUse(), { usedAt: NOW, isUsed: true }, 'in the moment it was made');
    bench.clock.advance(HOUR_MS - 1);
    assert.deepEqual(await lastUse(), { usedAt: NOW, isUsed: true }, 'once an hour is enough');
    bench.clock.advance(1);
    assert.deepEqual(await lastUse(), { usedAt: plus(NOW, HOUR_MS), isUsed: true });
    await bench.restart();
    assert.equal((await findToken(bench, 't1'))?.isUsed, true);
    const failed = ['sign_in_failed', 'sign_in_failed'];
    assert.deepEqual(await listKinds(bench), ['account_created', ...failed, 'signed_in']);
  },

  'tokens that ended go with the next sign-in, but not those with a name': async (bench: Bench) => {
    await bench.execute(create('ada', 'admin', false));
    await bench.execute(signIn('ada', 'auth'));
    await bench.execute(createToken('named', 'ci', 1));
    bench.clock.advance(TOKEN_LIFETIME_MS - SESSION_LIFETIME_MS);
    await bench.execute(signIn('ada', 'browser', true));
    assert.equal((await findToken(bench, 'browser'))?.kind, 'session');
    bench.clock.advance(SESSION_LIFETIME_MS);
    await bench.execute(signIn('ada', 'new'));
    assert.deepEqual((await listTokenIds(bench)).sort(), ['named', 'new']);
  },

  'a password that is replaced signs everybody out but who replaced it': async (bench: Bench) => {
    await bench.execute(create('ada', 'admin', false));
    await bench.execute(create('bob', 'admin'));
    for (const [name, token] of [
      ['ada', 'a1'],
      ['ada', 'a2'],
      ['bob', 'b1'],
    ] as const) {
      await bench.execute(signIn(name, token));
    }
    assert.deepEqual(await bench.execute(setPassword('ada', 'a2')), DONE);
    assert.deepEqual((await listTokenIds(bench)).sort(), ['a2', 'b1']);
    const ada = await bench.store.read({ kind: 'find_account', name: 'ada' });
    assert.deepEqual([ada?.passwordHash, ada?.oneTime], ['another', null]);
    assert.equal(await codeOf(bench, setPassword('nobody', null)), 'account_not_found');
  },

  'a sign-in that overlaps a change of the password is none': async (bench: Bench) => {
    await bench.execute(create('ada', 'admin'));
    await bench.execute(setPassword('ada', null));
    assert.deepEqual(await bench.execute(signIn('ada', 'late')), { kind: 'done', count: 0 });
    assert.equal(await findToken(bench, 'late'), null);
    const again = { ...setPassword('ada', null), checkedHash: 'hash of ada' };
    assert.equal(await codeOf(bench, again), 'invalid_credentials', 'nor does an old password change a new');
    assert.deepEqual((await listKinds(bench)).slice(1), ['password_changed', 'sign_in_failed']);
  },

  'a one-time password signs in once, then only for replacing it': async (bench: Bench) => {
    await bench.execute(create('ada', 'user'));
    assert.deepEqual(await bench.execute(signIn('ada', 't1')), DONE);
    assert.deepEqual(await bench.execute(signIn('ada', 't2')), DONE);
    assert.deepEqual(await bench.execute(signIn('ada', 't3', true)), DONE);
    const restrictions = async (...hashes: string[]) =>
      Promise.all(hashes.map(async (hash) => (await findToken(bench, hash))?.restriction));
    assert.deepEqual(await restrictions('t1', 't2', 't3'), [null, 'password_only', 'password_only']);
    assert.deepEqual(await bench.execute(setPassword('ada', 't2')), DONE);
    assert.deepEqual(await restrictions('t1', 't2', 't3'), [undefined, null, undefined]);
    const again = { ...signIn('ada', 't4'), checkedHash: 'another' };
    assert.deepEqual(await bench.execute(again), DONE);
    assert.deepEqual(await bench.execute({ ...again, tokenHash: 't5' }), DONE);
    assert.deepEqual(
      await restrictions('t4', 't5'),
      [null, null],
      'a password of their own has no such limit',
    );
  },

  'a one-time password ends after seven days, and another one counts anew': async (bench: Bench) => {
    await bench.execute(create('ada', 'admin'));
    bench.clock.advance(7 * DAY_MS - 1);
    assert.equal(await codeOf(bench, signIn('ada', 't1')), 'done');
    bench.clock.advance(1);
    assert.equal(await codeOf(bench, signIn('ada', 't2')), 'unauthorized');
    const change = { ...setPassword('ada', null), checkedHash: 'hash of ada' };
    assert.equal(await codeOf(bench, change), 'invalid_credentials');
    assert.deepEqual((await listKinds(bench)).slice(1), ['signed_in', 'sign_in_failed']);
    await bench.execute(setPassword('ada', null, true));
    assert.equal(await codeOf(bench, { ...signIn('ada', 't3'), checkedHash: 'another' }), 'done');
    assert.equal((await findToken(bench, 't3'))?.restriction, null, 'and it signs in once again');
  },

  'a token that was made without credentials ends with the setup, in the same commit': async (
    bench: Bench,
  ) => {
    await bench.execute(create('ada', 'admin'));
    const local = { shown: 'nothing' } as const;
    await bench.execute({ ...createToken('h1', 'local', null), ...local });
    await bench.execute(createToken('h2', 'ci', null));
    assert.equal((await findToken(bench, 'h1'))?.restriction, 'until_set_up');
    await bench.execute(setPassword('ada', 'h1', true));
    assert.ok(await findToken(bench, 'h1'), 'another one-time password ends nothing');
    await bench.execute(setPassword('ada', 'h1'));
    assert.deepEqual(await listTokenIds(bench), ['h2']);
    assert.equal(await codeOf(bench, { ...createToken('h3', 'late', null), ...local }), 'unauthorized');
    assert.equal(await findToken(bench, 'h3'), null);
  },

  'during setup, credentials make tokens that end with it, too, and accounts are signed out': async (
    bench: Bench,
  ) => {
    await bench.execute(create('ada', 'admin'));
    await bench.execute(create('eve', 'admin'));
    await bench.execute(signIn('ada', 'a1'));
    await bench.execute(signIn('eve', 'e1'));
    const withCredentials = { shown: 'credentials' } as const;
    await bench.execute({ ...createToken('h1', 'early', null), ...withCredentials });
    await bench.execute(setPassword('ada', 'a1'));
    assert.deepEqual(await listTokenIds(bench), ['a1']);
    await bench.execute({ ...createToken('h2', 'late', null), ...withCredentials });
    assert.equal((await findToken(bench, 'h2'))?.restriction, null);
    await bench.execute({ ...signIn('ada', 'a2'), checkedHash: 'another' });
    await bench.execute(setPassword('eve', null));
    assert.deepEqual((await listTokenIds(bench)).toSorted(), ['a1', 'a2', 'h2'], 'setup ends once');
  },

  'tokens that end soon are listed by their end': async (bench: Bench) => {
    for (const days of [9, 1, 3]) await bench.execute(createToken(`h${days}`, `ends in ${days}`, days));
    await bench.execute(createToken('h0', 'without an end', null));
    const list = async (endingWithinMs: number) =>
      (await bench.store.read({ kind: 'list_tokens', limit: 9, endingWithinMs })).map(
        ({ token }) => token.id,
      );
    assert.deepEqual(await list(3 * DAY_MS), ['h1', 'h3']);
    bench.clock.advance(DAY_MS);
    await bench.store.keepClock();
    assert.deepEqual(await list(3 * DAY_MS), ['h3'], 'what has ended is over');
  },

  'a clock that was reset makes no token live longer': async (bench: Bench) => {
    bench.clock.setWall(plus(NOW, 100 * HOUR_MS));
    await bench.execute({ kind: 'accept_clock', by: 'ada' });
    await bench.execute(createToken('h1', 'ci', 1));
    await bench.execute(create('ada', 'admin'));
    bench.clock.setWall(NOW);
    assert.equal((await bench.execute({ kind: 'reset_clock', by: 'ada' })).kind, 'clock_reset');
    const token = await findToken(bench, 'h1');
    const now = await bench.now();
    assert.deepEqual([token?.issuedAt, token?.expiresAt], [now, plus(now, 24 * HOUR_MS)]);
    const account = await bench.store.read({ kind: 'find_account', name: 'ada' });
    assert.equal(account?.oneTime?.madeAt, now, 'nor a one-time password');
  },

  'setup ends with the first own password of an administrator, for good': async (bench: Bench) => {
    const isSetUp = () => bench.store.read({ kind: 'is_set_up' });
    await bench.execute(create('ada', 'admin'));
    await bench.execute(create('olga', 'operator', false));
    await bench.execute(setPassword('ada', null, true));
    assert.equal(await isSetUp(), false);
    await bench.execute(setPassword('ada', null));
    assert.equal(await isSetUp(), true);
    await bench.execute(create('bob', 'admin'));
    await bench.execute({ kind: 'remove_account', account: 'ada', by: 'bob' });
    assert.equal(await isSetUp(), true, 'although only a password that was made up is left');
    await bench.restart();
    assert.equal(await isSetUp(), true);
  },

  'a role counts at once, for the tokens too; the last administrator stays': async (bench: Bench) => {
    await bench.execute(create('ada', 'admin'));
    await bench.execute(create('bob', 'user'));
    await bench.execute(signIn('bob', 'b1'));
    const setRole = (account: string, role: 'admin' | 'user') =>
      ({ kind: 'set_role', account, role, by: 'ada' }) as const;
    assert.equal(await codeOf(bench, setRole('ada', 'user')), 'last_administrator');
    const remove = { kind: 'remove_account', account: 'ada', by: 'ada' } as const;
    assert.equal(await codeOf(bench, remove), 'last_administrator');
    assert.equal(await codeOf(bench, setRole('nobody', 'user')), 'account_not_found');
    assert.deepEqual(await bench.execute(setRole('bob', 'admin')), DONE);
    assert.equal((await findToken(bench, 'b1'))?.role, 'admin');
    assert.deepEqual(await bench.execute(setRole('bob', 'admin')), { kind: 'done', count: 0 });
    assert.deepEqual(await bench.execute(remove), DONE);
    assert.equal(await codeOf(bench, { ...remove, account: 'bob' }), 'last_administrator');
    const names = (await bench.store.read({ kind: 'list_accounts' })).map(({ name }) => name);
    assert.deepEqual(names, ['bob']);
  },

  'two administrators who remove each other leave one': async (bench: Bench) => {
    await bench.execute(create('ada', 'admin'));
    await bench.execute(create('bob', 'admin'));
    const remove = (account: string) => codeOf(bench, { kind: 'remove_account', account, by: 'x' });
    const codes = await Promise.all([remove('ada'), remove('bob')]);
    assert.deepEqual(codes.sort(), ['done', 'last_administrator']);
  },

  'a token has a name, a role, an end, and is revoked by either of its names': async (bench: Bench) => {
    await bench.execute(createToken('h1', 'ci', 90));
    assert.equal(await codeOf(bench, createToken('h2', 'ci', null)), 'token_exists');
    await bench.execute(createToken('h2', 'lab', null));
    const token = await findToken(bench, 'h1');
    assert.deepEqual([token?.kind, token?.name, token?.role, token?.account], ['api', 'ci', 'user', null]);
    assert.equal(token?.expiresAt, plus(NOW, 90 * 24 * HOUR_MS));
    const revoke = (tokenId: string) => codeOf(bench, { kind: 'revoke_token', tokenId, by: 'ada' });
    assert.equal(await revoke('ci'), 'done');
    assert.equal(await revoke('h2'), 'done');
    assert.equal(await revoke('h2'), 'token_not_found');
    assert.deepEqual(await listTokenIds(bench), []);
    const kinds = ['token_created', 'token_created', 'token_revoked', 'token_revoked'];
    assert.deepEqual(await listKinds(bench), kinds);
  },
};
