import assert from 'node:assert/strict';
import type { Role } from '../../../src/core/access/role.ts';
import type { SentCode } from '../../../src/core/access/second-factor.ts';
import type { ExamStore } from './exam-store.ts';

const DONE = { kind: 'done', count: 1 };

const step = (at: number): SentCode => ({ kind: 'step', step: at });
const recovery = (hash: string): SentCode => ({ kind: 'recovery', hash });

const signIn = (tokenHash: string, code: SentCode | null) =>
  ({ kind: 'sign_in', account: 'ada', address: '::1', tokenHash, checkedHash: 'h', code }) as const;

const setUp = (account = 'ada', usedStep = 100) =>
  ({
    kind: 'set_second_factor',
    account,
    secret: `secret of ${account}`,
    usedStep,
    recoveryCodes: ['r1', 'r2'],
    checkedHash: 'h',
    keptToken: 'kept',
    by: account,
  }) as const;

async function addAccount(exam: ExamStore, name: string, role: Role = 'admin') {
  const account = { name, role, passwordHash: 'h', oneTime: false } as const;
  await exam.execute({ kind: 'create_account', ...account, by: 'server' });
}

const findSecret = (exam: ExamStore, account = 'ada') =>
  exam.store.read({ kind: 'find_second_factor', account });

const findAccount = (exam: ExamStore, name = 'ada') => exam.store.read({ kind: 'find_account', name });

async function codeOf(exam: ExamStore, command: Parameters<ExamStore['execute']>[0]): Promise<string> {
  const outcome = await exam.execute(command);
  return outcome.kind === 'refused' ? outcome.code : outcome.kind;
}

export const SECOND_FACTORS = {
  'a second factor is stored, and signs out whoever came without it': async (exam: ExamStore) => {
    await addAccount(exam, 'ada');
    assert.equal((await findAccount(exam))?.secondFactor, null);
    for (const token of ['kept', 'other']) await exam.execute(signIn(token, null));
    assert.deepEqual(await exam.execute(setUp()), DONE);
    await exam.restart();
    const factor = { usedStep: 100, recoveryCodes: ['r1', 'r2'] };
    assert.deepEqual((await findAccount(exam))?.secondFactor, factor);
    assert.equal(await findSecret(exam), 'secret of ada');
    const find = (tokenHash: string) => exam.store.read({ kind: 'find_token', tokenHash });
    assert.deepEqual([(await find('kept'))?.secondFactor, await find('other')], [factor, null]);
    assert.equal(await codeOf(exam, setUp()), 'forbidden', 'it is not replaced');
  },

  'every code counts once, also after a restart': async (exam: ExamStore) => {
    await addAccount(exam, 'ada');
    await exam.execute(setUp());
    assert.equal(await codeOf(exam, signIn('t0', null)), 'second_factor_required');
    assert.equal(await codeOf(exam, signIn('t0', step(100))), 'second_factor_required', 'it confirmed');
    assert.deepEqual(await exam.execute(signIn('t1', step(101))), DONE);
    assert.deepEqual(await exam.execute(signIn('t2', recovery('r1'))), DONE);
    await exam.restart();
    for (const [index, code] of [step(101), step(99), recovery('r1'), { kind: 'wrong' } as const].entries()) {
      assert.equal(await codeOf(exam, signIn(`x${index}`, code)), 'second_factor_required');
    }
    assert.deepEqual(await exam.execute(signIn('t3', step(102))), DONE);
    assert.deepEqual((await findAccount(exam))?.secondFactor, { usedStep: 102, recoveryCodes: ['r2'] });
    const signedIn = await exam.listEventsOf('signed_in', 'system');
    const left = signedIn.map((event) => (event as { recoveryCodesLeft?: number }).recoveryCodesLeft);
    assert.deepEqual(left, [undefined, 1, undefined]);
  },

  'of many who send one code at once, one signs in': async (exam: ExamStore) => {
    await addAccount(exam, 'ada');
    await exam.execute(setUp());
    for (const code of [step(101), recovery('r1')]) {
      const sent = Array.from({ length: 8 }, (_, index) =>
        codeOf(exam, signIn(`${code.kind}${index}`, code)),
      );
      assert.equal((await Promise.all(sent)).filter((outcome) => outcome === 'done').length, 1);
    }
  },

  'an owner removes it with a code, an administrator without': async (exam: ExamStore) => {
    await addAccount(exam, 'ada');
    const remove = (code: SentCode | null) => {
      const proof = code === null ? null : { checkedHash: 'h', code };
      return codeOf(exam, { kind: 'remove_second_factor', account: 'ada', proof, by: 'ada' });
    };
    await exam.execute(setUp());
    await exam.execute(signIn('t1', step(101)));
    assert.equal(await remove(step(101)), 'invalid_credentials');
    assert.equal((await exam.listEventsOf('sign_in_failed', 'system')).length, 1, 'it was a guess');
    assert.equal(await remove(step(102)), 'done');
    assert.deepEqual([await findSecret(exam), (await findAccount(exam))?.secondFactor], [null, null]);
    assert.notEqual(await exam.store.read({ kind: 'find_token', tokenHash: 't1' }), null);
    await exam.execute(setUp());
    assert.equal(await remove(null), 'done');
    assert.equal(await exam.store.read({ kind: 'find_token', tokenHash: 't1' }), null);
    assert.equal((await exam.listEventsOf('second_factor_removed', 'system')).length, 2);
  },

  'it goes with its account, and with the role of people': async (exam: ExamStore) => {
    await addAccount(exam, 'root');
    for (const name of ['ada', 'bob']) {
      await addAccount(exam, name);
      await exam.execute(setUp(name));
    }
    await exam.execute({ kind: 'remove_account', account: 'ada', by: 'root' });
    await exam.execute({ kind: 'set_role', account: 'bob', role: 'user', by: 'root' });
    assert.deepEqual([await findSecret(exam), await findSecret(exam, 'bob')], [null, null]);
    assert.equal((await findAccount(exam, 'bob'))?.secondFactor, null);
    assert.equal((await exam.listEventsOf('second_factor_removed', 'system')).length, 1);
    assert.equal(await codeOf(exam, setUp('bob')), 'forbidden', 'applications have none');
    await addAccount(exam, 'ada');
    assert.deepEqual(await exam.execute(signIn('t1', null)), DONE, 'the next one of that name has none');
  },
};
