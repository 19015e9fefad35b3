import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { listFlags } from '@berth/shell/console/command-flags';
import { ENTRIES as CLOUD } from '../../packages/cloud/src/cli/usage.ts';
import { ENTRIES as SERVER } from '../../packages/server/src/cli/usage.ts';
import { flagOf } from '../../packages/server/src/config.ts';
import { SETTINGS } from '../../packages/server/src/settings.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGES = ['README.md', 'SECURITY.md', ...globSync('docs/*.md', { cwd: ROOT })];

const CODE = /```[a-z]*\n([\s\S]*?)```|`([^`]+)`/g;
const CALL = /(?:^|[\s"'(])(?:\.\/)?berth ([a-z][^\n|<>;&"`]*)/g;

/** What every command takes, whatever its usage says. */
const COMMON = ['json', 'config', 'help', 'version', ...SETTINGS.map(({ path }) => flagOf(path))];

/** Every call of a command in the code of a page. */
function listCalls(page: string): readonly string[] {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8');
  const code = Array.from(text.matchAll(CODE), ([, block, span]) => block ?? span ?? '');
  return code.flatMap((part) => Array.from(part.matchAll(CALL), ([, call = '']) => call.trim()));
}

interface Documented {
  readonly words: string;
  readonly takes: readonly string[];
}

const SERVER_COMMANDS: readonly Documented[] = SERVER.map(({ words, usage = '' }) => ({
  words,
  takes: [...COMMON, ...listFlags(usage)],
}));

const CLOUD_COMMANDS: readonly Documented[] = CLOUD.map(({ words, usage = '', otherFlags = '' }) => ({
  words: `cloud ${words}`,
  takes: ['data', 'json', 'help', 'version', ...listFlags(usage), ...listFlags(otherFlags)],
}));

const COMMANDS = [...CLOUD_COMMANDS, ...SERVER_COMMANDS];

/** What is wrong with a call; nothing for a right one. */
function explainCall(call: string): string | null {
  const isIn = ({ words }: Documented) => `${call} `.startsWith(`${words} `);
  const command = COMMANDS.filter(isIn).sort((a, b) => b.words.length - a.words.length)[0];
  if (command === undefined) {
    const isGroup = COMMANDS.some(({ words }) => words.startsWith(`${call} `));
    return isGroup ? null : 'there is no such command';
  }
  const flags = Array.from(call.matchAll(/(?<=\s\[?)--(?:no-)?([\w-]+)/g), ([, flag = '']) => flag);
  const foreign = flags.find((flag) => !command.takes.includes(flag));
  return foreign === undefined ? null : `"${command.words}" takes no --${foreign}`;
}

/** What looks like a call and is none. */
const NO_CALLS = ['listening on ', 'cloud COMMAND'];

describe('commands in the documentation', () => {
  for (const page of PAGES) {
    const calls = listCalls(page).filter((call) => !NO_CALLS.some((start) => call.startsWith(start)));
    if (calls.length === 0) continue;
    test(`${page} names only commands and flags that there are`, () => {
      const wrong = calls.map((call) => [call, explainCall(call)]).filter(([, problem]) => problem !== null);
      assert.deepEqual(wrong, []);
    });
  }

  test('a wrong one is detected', () => {
    assert.equal(explainCall('license delete 7'), 'there is no such command');
    assert.equal(explainCall('license list --until never'), '"license list" takes no --until');
    assert.equal(explainCall('cloud license create --product cad --slots 3'), null);
  });
});
