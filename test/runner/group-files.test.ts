import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run, type TestContext, test } from 'node:test';
import { groupFiles } from './group-files.ts';
import { formatCounts, Ledger } from './ledger.ts';
import { reportCompactly } from './reporter.ts';

const HEAD = "import { after, before, beforeEach, describe, test } from 'node:test';";

/** Runs files as one group and returns what is reported about them. */
async function runGroup(t: TestContext, texts: Readonly<Record<string, string>>) {
  const root = mkdtempSync(join(tmpdir(), 'berth-group-'));
  t.after(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, 'packages'));
  const files = Object.entries(texts).map(([name, text]) => {
    const file = join(root, 'packages', `${name}.test.mjs`);
    writeFileSync(file, `${HEAD}\n${text}\n`);
    return file;
  });
  const { entries, ungroup } = groupFiles(files, root, join(root, 'groups'));
  assert.equal(entries.length, 1);
  const ledger = new Ledger({ skipsFail: false });
  // Otherwise the runner treats itself as a test and runs nothing.
  const context = process.env.NODE_TEST_CONTEXT;
  delete process.env.NODE_TEST_CONTEXT;
  const events = run({ files: entries, cwd: root, isolation: 'process' });
  const report = (await Array.fromAsync(reportCompactly(ungroup(events), ledger))).join('');
  process.env.NODE_TEST_CONTEXT = context;
  return { report, counts: formatCounts(ledger.counts), silent: ledger.listSilent(files), files };
}

test('every file of a group is reported separately, with its own hooks', async (t) => {
  const counting = `
    let count = 0;
    beforeEach(() => { count++; });
    after(() => { if (count !== 2) throw new Error('hooks ran ' + count + ' times'); });
    test('one', (t) => t.diagnostic('seed 7'));
    describe('suite', () => { test('two', () => {}); });`;
  const { report, counts, silent } = await runGroup(t, { a: counting, b: counting });
  assert.equal(counts, '4 passed, 0 failed', report);
  for (const file of ['a', 'b']) {
    assert.match(report, new RegExp(`^ok {3}.*${file}\\.test\\.mjs: 2 passed, 0 failed`, 'm'));
    assert.match(report, new RegExp(`^note .*${file}\\.test\\.mjs: seed 7$`, 'm'));
  }
  assert.deepEqual(silent, []);
});

test('a failure is reported with its file and output, and the rest of the group passes', async (t) => {
  const { report, counts } = await runGroup(t, {
    a: "describe('suite', () => test('bad', () => { console.log('hello'); throw new Error('broken'); }));",
    b: "throw new Error('cannot be loaded');",
    c: "test('good', () => {});",
    d: "after(() => { throw new Error('hook'); }); test('good', () => {});",
  });
  assert.equal(counts, '2 passed, 3 failed', report);
  assert.match(report, /^FAIL suite > bad\n.*a\.test\.mjs:2\n {4}Error: broken/m);
  assert.match(report, /^FAIL .*a\.test\.mjs: 0 passed, 1 failed .*\n {5}printed:\n {4}hello$/m);
  assert.match(report, /^FAIL test file\n.*b\.test\.mjs:\d+\n {4}Error: cannot be loaded/m);
  assert.match(report, /^ok {3}.*c\.test\.mjs: 1 passed, 0 failed/m);
  assert.match(report, /^FAIL test file\n.*d\.test\.mjs:\d+\n {4}Error: hook/m);
});

test('an error after the end of its test is told', async (t) => {
  const { report, counts } = await runGroup(t, {
    a: "test('early', () => { setTimeout(() => { throw new Error('late'); }, 20); });",
    b: "test('slow', () => new Promise((resolve) => setTimeout(resolve, 200)));",
  });
  assert.equal(counts, '2 passed, 1 failed', report);
  assert.match(report, /^note .*: Error: Test "early" at .*a\.test\.mjs:2.* the error "Error: late"/m);
});

test('a file without tests, and all after one that ends the process, are silent', async (t) => {
  const { silent, files } = await runGroup(t, {
    a: "test('good', () => {});",
    b: '',
    c: "test('exit', () => process.exit(0));",
    d: "test('good', () => {});",
  });
  // Reports of the first test may get lost with the process.
  assert.deepEqual(
    silent.filter((file) => file !== files[0]),
    files.slice(1),
  );
});

test('the files of a group start with the same mask for new files', async (t) => {
  const masked = `
    const masks = [];
    before(() => { masks.push(process.umask(0o077)); });
    test('mask', () => { if (masks[0] !== ${process.umask()}) throw new Error('it is ' + masks[0]); });`;
  const { report, counts } = await runGroup(t, { a: masked, b: masked });
  assert.equal(counts, '2 passed, 0 failed', report);
});
