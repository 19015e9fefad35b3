import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { runBerth } from '../support/berth-command.ts';
import { temporaryFolder } from '../support/server-process.ts';
import { ServerUnderTest } from '../support/server-under-test.ts';

const RULES = 'deny:\n  users: [mallory]\n  addresses: [10.0.0.0/8]\n';

describe('berth rules check', () => {
  test('checks what a file expects, without a server and without data', async (t) => {
    const data = join(temporaryFolder(t), 'none');
    const file = join(temporaryFolder(t), 'draft.yaml');
    const expect = (answer: string) => `  - { user: mallory, product: cad, answer: ${answer} }\n`;
    writeFileSync(file, `${RULES}expect:\n${expect('refused')}`);
    const { code, stdout, stderr } = await runBerth(data, ['rules', 'check', file]);
    assert.deepEqual([code, stderr], [0, '']);
    const asExpected = '5     5       as expected  mallory and cad: refused (deny by user).';
    assert.equal(stdout, `${file} is valid.\nline  column\n${asExpected}\n`);
    writeFileSync(file, `${RULES}expect:\n${expect('refused')}${expect('served')}`);
    const failed = await runBerth(data, ['rules', 'check', file, '--json']);
    assert.equal(failed.code, 1);
    const shown = await runBerth(data, ['rules', 'check', file]);
    assert.ok(shown.stdout.startsWith(`${file} is not valid: 1 expectation fails.\n`), shown.stdout);
    const message = 'mallory and cad: refused (deny by user)';
    assert.deepEqual(JSON.parse(failed.stdout), {
      file,
      errors: [],
      warnings: [],
      expectations: [
        { line: 5, column: 5, ok: true, message: `${message}.` },
        { line: 6, column: 5, ok: false, message: `${message}, but expected was: served.` },
      ],
    });
  });

  test('fails for an invalid file, and lists all that is wrong', async (t) => {
    const data = temporaryFolder(t);
    const file = join(data, 'rules.yaml');
    writeFileSync(file, 'deny: {adresses: []}\nproducts: {cad: {allow: [x]}}');
    const { code, stdout, stderr } = await runBerth(data, ['rules', 'check']);
    assert.deepEqual([code, stderr], [1, '']);
    assert.equal(
      stdout,
      `${file} is not valid: 2 errors.\nline  column\n` +
        '1     8       error  "deny.adresses" is unknown. Did you mean "addresses"?\n' +
        '2     26      error  "products.cad.allow[0]" is "x", which is not in "groups".\n',
    );
    const missing = await runBerth(data, ['rules', 'check', join(data, 'none.yaml')]);
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /none\.yaml is not valid: it does not exist\.\n$/);
  });

  test('says that there is no file', async (t) => {
    const { code, stderr } = await runBerth(temporaryFolder(t), ['rules', 'check']);
    assert.deepEqual([code, stderr], [1, 'The rules are kept in the store. Name a FILE to check.\n']);
  });
});

describe('berth rules import', () => {
  test('writes rules to standard output and a report beside it', async (t) => {
    const data = temporaryFolder(t);
    const [options, rules] = [join(data, 'acmed.opt'), join(data, 'draft.yaml')];
    writeFileSync(options, 'GROUP team ada bob\nRESERVE 2 cad GROUP team\nLINGER cad 30\n');
    const { code, stdout, stderr } = await runBerth(data, ['rules', 'import', options]);
    assert.equal(code, 0);
    assert.match(stdout, /^# From an options file of FlexNet\..*\{ slots: 2, for: team \} # line 2\n$/s);
    assert.match(stderr, /^Read as an options file of FlexNet\..*\n1 +same +GROUP team ada bob\n/s);
    assert.match(stderr, /\n\n3 lines: 2 same, 0 changed, 1 nothing to do, 0 lost\.\nNothing is left /);
    writeFileSync(rules, stdout);
    assert.equal((await runBerth(data, ['rules', 'check', rules])).code, 0);
    const json = await runBerth(data, ['rules', 'import', options, '--format', 'rlm', '--json']);
    assert.equal(json.stderr, '');
    const { format, text, report } = JSON.parse(json.stdout);
    assert.deepEqual([format, text.includes('slots: 2'), report.length], ['rlm', true, 3]);
  });

  test('fails for an empty file, an unknown format, and a file that is not there', async (t) => {
    const data = temporaryFolder(t);
    writeFileSync(join(data, 'empty.opt'), '# nothing\n');
    const empty = await runBerth(data, ['rules', 'import', join(data, 'empty.opt')]);
    assert.deepEqual([empty.code, empty.stdout], [1, '']);
    assert.match(empty.stderr, /empty\.opt: It has no options/);
    const none = await runBerth(data, ['rules', 'import', join(data, 'none.opt')]);
    assert.equal(none.code, 1);
    const wrong = await runBerth(data, ['rules', 'import', join(data, 'none.opt'), '--format', 'lum']);
    assert.deepEqual([wrong.code, wrong.stderr], [1, '--format is "lum"; use flexnet or rlm.\n']);
  });
});

describe('berth rules show', () => {
  test('shows the same while the server runs and when it is stopped', async (t) => {
    const server = ServerUnderTest.make(t);
    writeFileSync(join(server.data, 'rules.yaml'), RULES);
    await server.start({ isHere: true });
    const running = await runBerth(server.data, ['rules', 'show']);
    assert.equal(running.code, 0);
    const [facts, text] = running.stdout.split('\n\n');
    assert.match(
      facts ?? '',
      /^revision +1\napplied by +server\nin force since +\S+Z\nfile +\S+rules\.yaml$/,
    );
    assert.equal(text, RULES);
    await server.stop();
    assert.equal((await runBerth(server.data, ['rules', 'show'])).stdout, running.stdout);
  });
});

describe('berth rules apply', () => {
  test('puts rules in force, history compares them, and revert brings them back', async (t) => {
    const server = ServerUnderTest.make(t);
    await server.start({ isHere: true });
    const file = join(temporaryFolder(t), 'draft.yaml');
    const berth = (...words: string[]) => runBerth(server.data, words);
    const apply = (text: string) => {
      writeFileSync(file, text);
      return berth('rules', 'apply', file);
    };
    assert.equal((await apply(RULES)).stdout, 'The rules are in force, as revision 1.\n');
    assert.equal((await apply(RULES)).stdout, 'These rules are in force already, as revision 1.\n');
    const refused = await apply('deny: { user: [ada] }');
    assert.deepEqual([refused.code, refused.stdout], [1, '']);
    assert.match(
      refused.stderr,
      /In line 1, column \d+: "deny\.user" is unknown\. .*The rules in force have not changed\./,
    );
    await apply('deny: {}\n');
    assert.match((await berth('rules', 'history')).stdout, /^revision +.*\n2 +.* \+1 -3\n1 +.* \+3 -0\n$/);
    const reverted = await berth('rules', 'revert', '1');
    assert.equal(reverted.stdout, 'The rules are in force again, as revision 3.\n');
    assert.match(
      (await berth('rules', 'history', '3')).stdout,
      /\n-deny: \{\}\n\+deny:\n\+ {2}users: \[mallory\]\n/,
    );
  });

  test('says that a file rules, if there is one', async (t) => {
    const server = ServerUnderTest.make(t);
    writeFileSync(join(server.data, 'rules.yaml'), RULES);
    await server.start({ isHere: true });
    const { code, stderr } = await runBerth(server.data, ['rules', 'apply', join(server.data, 'rules.yaml')]);
    assert.equal(code, 1);
    assert.match(stderr, /The rules are in the file \S+rules\.yaml\. Edit it/);
  });
});

describe('berth bar', () => {
  test('bars besides the rules file, and unbar says what still bars', async (t) => {
    const server = ServerUnderTest.make(t);
    writeFileSync(join(server.data, 'rules.yaml'), RULES);
    await server.start({ isHere: true });
    const berth = (...words: string[]) => runBerth(server.data, words);
    const barred = await berth('bar', '--host', 'lab-*', '--note', 'the lab');
    assert.deepEqual([barred.code, barred.stderr], [0, '']);
    assert.match(
      barred.stdout,
      /^The host "lab-\*" is barred from now on\. .*registration release USER .* frees/,
    );
    await berth('bar', 'Mallory');
    const { stdout: shown } = await berth('bar', 'list');
    assert.match(shown, /^barred +which +by +since +note\nhost +lab-\* .* the lab\nuser +M/);
    const lifted = await berth('unbar', 'MALLORY');
    assert.match(
      lifted.stdout,
      /^The user "MALLORY" is no longer barred by a command, but still refused by:\n/,
    );
    assert.match(lifted.stdout, /\nuser +mallory +rules/);
    await server.stop();
    const none = await berth('unbar');
    assert.deepEqual([none.code, none.stderr], [1, 'Name a USER, or give --host or --address.\n']);
  });
});

describe('an invalid rules file', () => {
  test('prevents the start while no rules are in force', async (t) => {
    const data = temporaryFolder(t);
    writeFileSync(join(data, 'rules.yaml'), 'deny: [');
    const { code, stdout, stderr } = await runBerth(data, ['serve', '--port', '0']);
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /^The rules file \S+rules\.yaml is not valid: line 1, column 8: [^\n]+\n$/);
    const named = await runBerth(data, ['serve', '--port', '0', '--rules', join(data, 'none.yaml')]);
    assert.equal(named.code, 1);
    assert.match(named.stderr, /none\.yaml is not valid: it does not exist\. Correct the file: [^\n]+\n$/);
  });

  test('is logged, and the rules in force stay', async (t) => {
    const server = ServerUnderTest.make(t);
    const file = join(server.data, 'rules.yaml');
    writeFileSync(file, RULES);
    await server.start({ isHere: true });
    await server.stop();
    writeFileSync(file, 'deny: [');
    await server.start();
    assert.match(server.log, /the rules file is not valid; the rules in force stay/);
    const { body } = await server.api.get('/api/admin/rules');
    assert.deepEqual([body.revision, body.text], [1, RULES]);
    assert.match(String(body.file_error), /This is not valid YAML/);
    await server.stop();
    rmSync(file);
    await server.start({ isHere: true });
    const { body: kept } = await server.api.get('/api/admin/rules');
    assert.deepEqual([kept.file, kept.file_error, kept.text], [null, null, RULES], 'without the file, too');
  });
});
