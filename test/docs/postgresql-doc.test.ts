import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { SETTINGS } from '../../packages/server/src/settings.ts';
import { ensureTool } from '../support/install-tools.ts';
import { startServerHere } from '../support/server-here.ts';
import { temporaryFolder } from '../support/server-process.ts';
import { hasPostgres, sharedPostgres } from '../support/stores/postgres.ts';
import { readConsoleSteps, toAnyFolder, toPattern } from './console-blocks.ts';
import { runStep } from './run-step.ts';

const PAGE = readFileSync(new URL('../../docs/postgresql.md', import.meta.url), 'utf8');
const getPostgres = sharedPostgres();

/** On the page the second server is started where it is first spoken to. */
const SECOND = 'http://127.0.0.1:8082';

async function startOn(t: TestContext, url: string, data: string, args: readonly string[] = []) {
  const server = await startServerHere({ data, args, env: { BERTH_DATABASE_URL: url } });
  t.after(server.stop);
  return server.url;
}

describe('docs/postgresql.md', () => {
  test('two servers do what the page says', async (t) => {
    if (!hasPostgres) return t.skip('optional: needs PostgreSQL');
    if (!(await ensureTool('curl'))) return t.skip('optional: needs curl');
    const url = await (await getPostgres()).createDatabase();
    const folder = temporaryFolder(t);
    const first = await startOn(t, url, join(folder, 'first'), ['--demo']);
    let second: string | null = null;
    const steps = readConsoleSteps(PAGE);
    assert.ok(steps.length >= 6);
    for (const { command, expected } of steps) {
      if (command.includes(SECOND)) second ??= await startOn(t, url, join(folder, 'second'));
      const local = toAnyFolder(command)
        .replaceAll(' ./', ` ${folder}/`)
        .replaceAll('http://127.0.0.1:8081', first)
        .replaceAll(SECOND, second ?? SECOND);
      const printed = await runStep(local, { env: { ...process.env, BERTH_DATABASE_URL: url } });
      assert.match(printed.trimEnd().replaceAll(`${folder}/`, './'), toPattern(expected), command);
    }
  });

  test('names settings that there are', () => {
    const paths = SETTINGS.map(({ path }) => path);
    const named = [
      ...PAGE.matchAll(/`((?:database|cloud|airgap|webhooks|notices|auth|http|tls|log)\.(\w+|\*))/g),
    ];
    assert.ok(named.length > 5);
    for (const [, name = '', last] of named) {
      const isKnown =
        last === '*' ? paths.some((path) => path.startsWith(name.slice(0, -1))) : paths.includes(name);
      assert.ok(isKnown, name);
    }
  });
});
