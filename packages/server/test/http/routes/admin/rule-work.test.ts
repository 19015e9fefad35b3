import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { describe, type TestContext, test } from 'node:test';
import { CONTROL, FOREIGN, openTestApp } from '../../../../../../test/support/test-app.ts';
import { TRY_RULES } from '../../../../src/services/rules/rule-tasks.ts';
import { type RunTask, runTaskHere } from '../../../../src/services/tasks/task.ts';

const TEXT = 'deny: { users: [mallory] }';

/** An app on which trials last until they are let go. */
async function openBusy(t: TestContext) {
  const { promise: isLetGo, resolve: letGo } = Promise.withResolvers<void>();
  const begun = new EventEmitter();
  const runTask = async (...task: Parameters<RunTask>) => {
    if (task[0] === TRY_RULES) {
      begun.emit('try');
      await isLetGo;
    }
    return runTaskHere(...task);
  };
  const app = await openTestApp(t, { runTask: runTask as RunTask });
  const createToken = async (name: string, role: string) =>
    String((await app.post('/api/admin/tokens/create', { name, role }, { peer: CONTROL })).body.token);
  const tokens = {
    v1: await createToken('v1', 'viewer'),
    v2: await createToken('v2', 'viewer'),
    v3: await createToken('v3', 'viewer'),
    operator: await createToken('operator', 'operator'),
    admin: await createToken('admin', 'admin'),
  };
  const call = (who: keyof typeof tokens, path: string, body: object) =>
    app.post(path, body, { peer: FOREIGN, headers: { authorization: `Bearer ${tokens[who]}` } });
  const read = (who: keyof typeof tokens, path: string) =>
    app.get(path, { peer: FOREIGN, headers: { authorization: `Bearer ${tokens[who]}` } });
  const trials: ReturnType<typeof call>[] = [];
  const beginTrial = async (who: keyof typeof tokens) => {
    const isBegun = once(begun, 'try');
    trials.push(call(who, '/api/admin/rules/try', { text: TEXT }));
    await isBegun;
  };
  return { call, read, letGo, trials, beginTrial };
}

describe('while others try rules', () => {
  test('a caller has one place, viewers have two, all have three, and rules can be applied', async (t) => {
    const { call, read, letGo, trials, beginTrial } = await openBusy(t);
    const refusedAs = async (answer: ReturnType<typeof call>) => {
      const { status, headers, body } = await answer;
      return [status, headers.get('retry-after'), body.code, body.message];
    };
    const refusal = [
      429,
      '10',
      'too_many_requests',
      'You or others check or try rules, or ask what would have been. Try again when that has finished.',
    ];
    const check = (who: Parameters<typeof call>[0]) => call(who, '/api/admin/rules/check', { text: TEXT });
    await beginTrial('v1');
    await beginTrial('v2');
    assert.deepEqual(await refusedAs(check('v1')), refusal);
    assert.deepEqual(await refusedAs(check('v3')), refusal);
    assert.equal((await check('admin')).status, 200, 'one place is left');
    await beginTrial('operator');
    const imported = call('admin', '/api/admin/rules/import', { text: 'EXCLUDE cad USER mallory' });
    assert.deepEqual(await refusedAs(imported), refusal);
    const whatIf = read('admin', '/api/admin/history/what-if');
    assert.deepEqual(await refusedAs(whatIf), refusal);
    assert.equal((await call('admin', '/api/admin/rules/apply', { text: TEXT })).status, 200);
    assert.equal((await call('admin', '/api/admin/rules/apply', { text: 'deny: {}' })).status, 200);
    assert.equal((await call('admin', '/api/admin/rules/revert', { revision: 1 })).status, 200);
    assert.equal((await read('v1', '/api/admin/rules')).status, 200);
    letGo();
    for (const trial of trials) assert.equal((await trial).status, 200);
    assert.equal((await check('v1')).status, 200);
  });
});
