import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { listFlags } from '@berth/shell/console/command-flags';
import type { CommandUsage } from '@berth/shell/console/command-help';
import { SHELLS } from '@berth/shell/console/completion';
import { ENTRIES as CLOUD_ENTRIES } from '../../packages/cloud/src/cli/usage.ts';
import { ENTRIES } from '../../packages/server/src/cli/usage.ts';
import { runBerth, spawnBerth } from '../support/berth-command.ts';
import { temporaryFolder } from '../support/server-process.ts';

const folder = temporaryFolder({ after });

/** The commands of both programs, as they are typed. */
const COMMANDS: readonly (readonly [string, CommandUsage])[] = [
  ...ENTRIES.map((entry) => [entry.words, entry] as const),
  ...CLOUD_ENTRIES.map((entry) => [`cloud ${entry.words}`, entry] as const),
];

const scripts = new Map<string, string>();

before(async () => {
  const { code, stdout } = await spawnBerth(folder, ['completion', 'bash']);
  assert.equal(code, 0);
  scripts.set('bash', stdout);
  for (const shell of SHELLS.filter((one) => one !== 'bash')) {
    scripts.set(shell, (await runBerth(folder, ['completion', shell])).stdout);
  }
});

/** What bash suggests for each of these lines, of which the last word is being typed. */
function ask(lines: readonly string[]): readonly (readonly string[])[] {
  const calls = lines.map((line) => {
    const words = ['berth', ...line.split(' ')];
    const quoted = words.map((word) => `'${word}'`).join(' ');
    return `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _berth; echo "\${COMPREPLY[*]}"`;
  });
  const input = [scripts.get('bash'), ...calls].join('\n');
  const { status, stdout, stderr } = spawnSync('bash', ['--noprofile', '--norc'], {
    input,
    encoding: 'utf8',
  });
  assert.deepEqual([status, stderr], [0, '']);
  return stdout.split('\n').map((line) => line.split(' ').filter((word) => word !== ''));
}

describe('completion in bash', () => {
  test('suggests every word of every command', () => {
    const words = COMMANDS.flatMap(([typed]) => {
      const all = typed.split(' ');
      return all.map((word, index) => [all.slice(0, index).join(' '), word] as const);
    });
    const found = ask(words.map(([before]) => `${before} `.trimStart()));
    for (const [index, [before, word]] of words.entries()) {
      assert.ok(found[index]?.includes(word), `${before} ${word}`);
    }
  });

  test('suggests every flag of every command, and no other', () => {
    const found = ask(COMMANDS.map(([typed]) => `${typed} --`));
    for (const [index, [typed, { usage = '' }]] of COMMANDS.entries()) {
      const flags = listFlags(usage).map((flag) => `--${flag}`);
      for (const flag of [...flags, '--json', '--data'])
        assert.ok(found[index]?.includes(flag), `${typed} ${flag}`);
    }
    const [reset, serve] = ask(['clock reset --', 'serve --ht']);
    assert.deepEqual(reset, ['--dry-run', '--yes', '--json', '--data', '--config', '--help']);
    assert.ok(serve?.includes('--http-trusted-proxies'), 'all settings');
  });

  for (const [line, expected] of [
    ['stat', ['status']],
    ['--data /x license sh', ['show']],
    ['user add ada --role o', ['operator']],
    ['completion z', ['zsh']],
    ['license show 7 --j', ['--json']],
    ['backup ', []],
    ['backup x --passphrase-file ', []],
  ] as const) {
    test(`knows "${line}"`, () => assert.deepEqual(ask([line])[0], expected));
  }

  test('is registered for the program', () => {
    const input = `${scripts.get('bash')}\ncomplete -p berth`;
    const { stdout } = spawnSync('bash', ['--noprofile', '--norc'], { input, encoding: 'utf8' });
    assert.equal(stdout, 'complete -o default -F _berth berth\n');
  });
});

describe('completion in other shells', () => {
  for (const shell of ['zsh', 'fish', 'powershell']) {
    test(`has every command and flag (${shell})`, () => {
      const script = scripts.get(shell) ?? '';
      for (const { words, usage = '' } of ENTRIES) {
        assert.ok(script.includes(words), words);
        for (const flag of listFlags(usage)) assert.ok(script.includes(flag), flag);
      }
    });
  }

  for (const [shell, program] of [
    ['zsh', 'zsh'],
    ['fish', 'fish'],
  ] as const) {
    test(`can be read by ${shell}`, (t) => {
      const file = join(folder, `berth.${shell}`);
      writeFileSync(file, scripts.get(shell) ?? '');
      const { error, status, stderr } = spawnSync(program, ['-n', file], { encoding: 'utf8' });
      if (error !== undefined) return t.skip(`optional: needs ${shell}`);
      assert.deepEqual([status, stderr], [0, '']);
    });
  }
});

test('an unknown shell is refused with those that are known', async () => {
  const { code, stderr } = await runBerth(folder, ['completion', 'bahs']);
  assert.equal(code, 1);
  assert.equal(
    stderr,
    'There is no completion for "bahs". Did you mean "bash"? There is one for bash, zsh, fish, powershell.\n',
  );
});
