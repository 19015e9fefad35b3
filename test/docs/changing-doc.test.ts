import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { rules } from '../tidy/rules.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGE = readFileSync(join(ROOT, 'docs/changing.md'), 'utf8').replace(/\s+/g, ' ');

/** Paths start at the root of the project or at the server's sources. */
function findFile(path: string): string | undefined {
  return [join(ROOT, path), join(ROOT, 'packages/server/src', path)].find(existsSync);
}

function readSource(path: string): string {
  const file = findFile(path);
  assert.ok(file !== undefined, `There is no ${path}.`);
  return readFileSync(file, 'utf8');
}

/** What stands between backticks, each once. */
const CODE = new Set(Array.from(PAGE.matchAll(/`([^`]+)`/g), ([, code = '']) => code));

/** Names that are declared in one of the files on the page. */
const IDENTIFIER = /^[A-Za-z_]{5,}$/;
const PATH = /^[\w.-]+(?:\/[\w.-]*)+$|^[\w-]+\.(?:ts|md)$/;

describe('docs/changing.md', () => {
  const paths = [...CODE].filter((code) => PATH.test(code));
  const sources = paths.filter((path) => path.endsWith('.ts'));

  test('names only files and folders that there are', () => {
    assert.deepEqual(
      paths.filter((path) => findFile(path) === undefined),
      [],
    );
  });

  test('names only tests that there are, in the files in which they are', () => {
    const tests = [...PAGE.matchAll(/`([\w./-]+\.ts)`: "([^"]+)"/g)];
    const missing = tests.filter(([, path = '', title = '']) => !readSource(path).includes(title));
    assert.deepEqual(
      missing.map(([named]) => named),
      [],
    );
  });

  test('names only functions, types and tables that there are', () => {
    const text = sources.map(readSource).join('\n');
    const words = new Set(text.split(/\W+/));
    const names = [...CODE].filter((code) => IDENTIFIER.test(code) && !Object.hasOwn(rules, code));
    assert.deepEqual(
      names.filter((name) => !words.has(name)),
      [],
    );
  });

  test('names only rules and commands that there are', () => {
    const named = Array.from(PAGE.matchAll(/tidy `([\w-]+)`/g), ([, rule = '']) => rule);
    assert.ok(named.length > 0);
    for (const rule of named) assert.ok(Object.hasOwn(rules, rule), rule);
    const { scripts } = JSON.parse(readSource('package.json')) as { scripts: Record<string, string> };
    const commands = [...CODE].filter((code) => code.startsWith('npm '));
    assert.ok(commands.length > 0);
    for (const command of commands) {
      const [, script = ''] = /^npm (?:run )?([\w:]+)/.exec(command) ?? [];
      assert.ok(Object.hasOwn(scripts, script), command);
    }
  });
});
