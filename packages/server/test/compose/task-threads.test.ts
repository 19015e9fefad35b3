import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LARGE_AND_SENSIBLE, WORST_ACCEPTED } from '../../../../test/support/hostile-rules.ts';
import { createTaskThreads } from '../../src/compose/task-threads.ts';
import { IMPORT_RULES, PARSE_RULES, TRY_RULES } from '../../src/services/rules/rule-tasks.ts';

const NOBODY = new AbortController().signal;

const textOf = (text: string) => ({ text, products: null, hasDirectory: true });

describe('a thread for a task', () => {
  test('reads a text', async () => {
    const run = createTaskThreads();
    const parsed = await run(PARSE_RULES, textOf(LARGE_AND_SENSIBLE), null, NOBODY);
    assert.ok('rules' in parsed);
    assert.equal(Object.keys(parsed.rules.groups).length, 60);
    assert.equal(
      Object.hasOwn(await run(IMPORT_RULES, { text: 'x', format: null }, null, NOBODY), 'problem'),
      true,
    );
  });

  test('is ended when it takes too much memory, and the server goes on', async () => {
    const run = createTaskThreads(24);
    await assert.rejects(run(PARSE_RULES, textOf(WORST_ACCEPTED), null, NOBODY), {
      code: 'rules_not_valid',
      message: 'This takes more than 24 MB of memory. Write fewer names, groups or expectations.',
    });
  });

  test('is ended when it takes too much time', async () => {
    const run = createTaskThreads();
    await assert.rejects(run({ ...PARSE_RULES, seconds: 0.01 }, textOf(WORST_ACCEPTED), null, NOBODY), {
      code: 'rules_not_valid',
      message: 'This takes longer than 0.01 seconds. Write fewer names, groups or expectations.',
    });
  });

  test('is ended when nobody waits for it', async () => {
    const run = createTaskThreads();
    const control = new AbortController();
    const running = run(PARSE_RULES, textOf(WORST_ACCEPTED), null, control.signal);
    control.abort();
    await assert.rejects(running, { code: 'bad_request' });
    await assert.rejects(run(PARSE_RULES, textOf('deny: {}'), null, control.signal), { code: 'bad_request' });
  });

  test('says what is refused, and what its host cannot do', async () => {
    const run = createTaskThreads();
    const host = {
      read: async () => assert.fail(),
      keepClock: () => Promise.reject(new Error('The disk is full.')),
      findMembers: async () => assert.fail(),
    };
    const given = { since: undefined, hasDirectory: false };
    await assert.rejects(run(TRY_RULES, { ...given, text: 'x' }, host, NOBODY), {
      code: 'rules_not_valid',
      details: { line: 1, column: 1 },
    });
    await assert.rejects(run(TRY_RULES, { ...given, text: 'deny: {}' }, host, NOBODY), /The disk is full/);
  });
});
