import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { PROJECT, run } from '../support/clone.ts';
import { startServerProcess, temporaryFolder } from '../support/server-process.ts';

const skip = process.platform === 'win32' && 'a POSIX shell';

interface Lock {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean; readonly link?: boolean }>>;
}

/** The sources with the packages that `npm ci --omit=dev` installs, without asking a registry for them. */
function installForProduction(folder: string): void {
  const isSource = (path: string) => !/\/(?:dist|node_modules|test)$/.test(path);
  for (const one of ['berth', 'bin', 'build', 'package.json', 'package-lock.json', 'packages']) {
    cpSync(join(PROJECT, one), join(folder, one), { recursive: true, filter: isSource });
  }
  const lock = JSON.parse(readFileSync(join(PROJECT, 'package-lock.json'), 'utf8')) as Lock;
  for (const [path, { dev = false, link = false }] of Object.entries(lock.packages)) {
    if (dev || !/^node_modules\/(?:@[^/]+\/)?[^/]+$/.test(path) || !existsSync(join(PROJECT, path))) continue;
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    const target = link ? join(folder, 'packages', path.replace(/^.*\//, '')) : join(PROJECT, path);
    symlinkSync(target, join(folder, path));
  }
  mkdirSync(join(folder, 'node_modules', '.bin'));
  symlinkSync(process.execPath, join(folder, 'node_modules', '.bin', 'node'));
}

/** docs/install.md, "From the source". */
describe('an installation without development packages', { skip }, () => {
  test('is the one that the page describes', () => {
    const text = readFileSync(join(PROJECT, 'docs', 'install.md'), 'utf8');
    const [, block = ''] = /^## From the source\n[\s\S]*?```\n([\s\S]*?)\n```/m.exec(text) ?? [];
    const [install, version, ...rest] = block.split('\n');
    assert.deepEqual([install, version], ['npm ci --omit=dev', './berth version']);
    assert.match(rest.at(-1) ?? '', /\.\/berth serve --data \S+$/);
  });

  test("has the administrator's page, also if its user may not write to the folder", async (t) => {
    const folder = temporaryFolder(t, { hasPrograms: true });
    installForProduction(folder);
    assert.ok(!existsSync(join(folder, 'node_modules', 'typescript')));
    const { stdout } = await run('./berth', ['version'], { cwd: folder });
    assert.match(stdout, /^berth 0\.1\.0( \(\w{8}, from source\))?\n$/);
    // A file in place of the folder: the built page cannot be kept, whoever runs this test.
    writeFileSync(join(folder, 'packages', 'admin', 'dist'), '');
    const program = { file: join(folder, 'berth'), args: [] };
    const server = await startServerProcess({ data: temporaryFolder(t), program });
    t.after(() => server.stop());
    const page = await fetch(server.url, { headers: { accept: 'text/html' } });
    const [, script] = /src="([^"]+)"/.exec(await page.text()) ?? [];
    assert.ok(script !== undefined, 'it was not built');
    const { length } = await (await fetch(new URL(script, server.url))).text();
    assert.ok(length > 100_000, `${length}`);
  });
});
