import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { unpackEarlierServer } from '../support/earlier-data/open.ts';
import { ensureTool } from '../support/install-tools.ts';
import { pollUntil } from '../support/poll.ts';
import { type ServerProcess, startServerProcess, temporaryFolder } from '../support/server-process.ts';
import { hasPostgres, sharedPostgres } from '../support/stores/postgres.ts';
import { readConsoleSteps, toAnyFolder, toPattern } from './console-blocks.ts';

const run = promisify(execFile);
const PAGE = readFileSync(new URL('../../docs/upgrading.md', import.meta.url), 'utf8');
const getPostgres = sharedPostgres();
const SERVE = /^\.\/berth serve --port (\d+) --data (\w+) &$/;

/** The servers of the page, by the port that it gives them. */
class Site {
  readonly env: Readonly<Record<string, string>>;
  readonly #t: TestContext;
  readonly #folder: string;
  readonly #servers = new Map<string, ServerProcess>();

  constructor(t: TestContext, folder: string, url: string) {
    this.#t = t;
    this.#folder = folder;
    this.env = { BERTH_DATABASE_URL: url, BERTH_MASTER_KEY: 'ab'.repeat(32) };
  }

  async start(port: string, name: string, program?: ReturnType<typeof unpackEarlierServer>): Promise<void> {
    const given = program === undefined ? {} : { program, args: ['--demo'] };
    const old = this.#servers.get(port);
    if (old !== undefined)
      assert.equal(await pollUntil('its exit', () => old.child.exitCode ?? undefined), 0);
    const server = await startServerProcess({ data: join(this.#folder, name), env: this.env, ...given });
    this.#t.after(() => server.stop());
    this.#servers.set(port, server);
  }

  /** A command of the page as it can be run here. */
  translate(command: string): string {
    let text = toAnyFolder(command).replaceAll(/\b(first|second)\b/g, `${this.#folder}/$1`);
    for (const [port, { url }] of this.#servers) text = text.replaceAll(`http://127.0.0.1:${port}`, url);
    return text;
  }
}

test('old and new servers share a database as docs/upgrading.md shows', async (t) => {
  if (!hasPostgres) return t.skip('optional: needs PostgreSQL');
  if (!(await ensureTool('curl', 'curl'))) return t.skip('optional: needs curl');
  const site = new Site(t, temporaryFolder(t), await (await getPostgres()).createDatabase());
  const earlier = unpackEarlierServer(t);
  await site.start('8081', 'first', earlier);
  await site.start('8082', 'second', earlier);
  const steps = readConsoleSteps(PAGE);
  assert.ok(steps.length >= 11);
  for (const { command, expected } of steps) {
    const [, port, name] = SERVE.exec(command) ?? [];
    if (port !== undefined && name !== undefined) {
      await site.start(port, name);
      continue;
    }
    const { stdout } = await run('bash', ['-c', site.translate(command)], {
      env: { ...process.env, ...site.env },
    });
    assert.match(stdout.trimEnd(), toPattern(expected), command);
  }
});
