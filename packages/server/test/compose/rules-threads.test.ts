import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LARGE_AND_SENSIBLE, WORST_ACCEPTED } from '../../../../test/support/hostile-rules.ts';
import { createRulesThreads } from '../../src/compose/rules-threads.ts';

const NOBODY = new AbortController().signal;
const SECONDS = { parse: 60, import: 60, try: 60 };

const textOf = (text: string) => ({ text, products: null, hasDirectory: true });

describe('a thread for rules', () => {
  test('reads a text', async () => {
    const run = createRulesThreads();
    const parsed = await run('parse', textOf(LARGE_AND_SENSIBLE), null, NOBODY);
    assert.ok('rules' in parsed);
    assert.equal(Object.keys(parsed.rules.groups).length, 60);
    assert.equal(
      Object.hasOwn(await run('import', { text: 'x', format: null }, null, NOBODY), 'problem'),
      true,
    );
  });

  test('is ended when it takes too much memory, and the server goes on', async () => {
    const run = createRulesThreads({ seconds: SECONDS, megabytes: 24 });
    await assert.rejects(run('parse', textOf(WORST_ACCEPTED), null, NOBODY), {
      code: 'rules_not_valid',
      message: 'This takes more than 24 MB of memory. Write fewer names, groups or expectations.',
    });
  });

  test('is ended when it takes too much time', async () => {
    const run = createRulesThreads({ seconds: { ...SECONDS, parse: 0.01 }, megabytes: 512 });
    await assert.rejects(run('parse', textOf(WORST_ACCEPTED), null, NOBODY), {
      code: 'rules_not_valid',
      message: 'This takes longer than 0.01 seconds. Write fewer names, groups or expectations.',
    });
  });

  test('is ended when nobody waits for it', async () => {
    const run = createRulesThreads();
    const control = new AbortController();
    const running = run('parse', textOf(WORST_ACCEPTED), null, control.signal);
    control.abort();
    await assert.rejects(running, { code: 'bad_request' });
    await assert.rejects(run('parse', textOf('deny: {}'), null, control.signal), { code: 'bad_request' });
  });

  test('says what is refused, and what its host cannot do', async () => {
    const run = createRulesThreads();
    const host = {
      read: async () => assert.fail(),
      keepClock: () => Promise.reject(new Error('The disk is full.')),
      findMembers: async () => assert.fail(),
    };
    const given = { since: undefined, hasDirectory: false };
    await assert.rejects(run('try', { ...given, text: 'x' }, host, NOBODY), {
      code: 'rules_not_valid',
      details: { line: 1, column: 1 },
    });
    await assert.rejects(run('try', { ...given, text: 'deny: {}' }, host, NOBODY), /The disk is full/);
  });
});
