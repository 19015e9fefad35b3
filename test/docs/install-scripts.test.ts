import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { temporaryFolder } from '../support/server-process.ts';

const ROOT = new URL('../../', import.meta.url);

function readText(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8');
}

/** docs/install.md promises it. Older versions of npm know nothing of `allowScripts`. */
describe('npm ci', () => {
  test('runs no script of any package', (t) => {
    const folder = temporaryFolder(t);
    const write = (name: string, value: object) => writeFileSync(join(folder, name), JSON.stringify(value));
    const about = { name: 'example', version: '1.0.0' };
    write('package.json', { ...about, scripts: { postinstall: "node -e \"fs.writeFileSync('ran', '')\"" } });
    write('package-lock.json', { ...about, lockfileVersion: 3, packages: { '': about } });
    // npm hands its settings on to the scripts that it runs, such as this test.
    const own = Object.entries(process.env).filter(([variable]) => !/^npm_config_/i.test(variable));
    const env = Object.fromEntries(own);
    const install = () => {
      execFileSync('npm', ['ci', '--offline'], {
        cwd: folder,
        env,
        shell: process.platform === 'win32',
        stdio: 'pipe',
      });
      return existsSync(join(folder, 'ran'));
    };
    copyFileSync(new URL('.npmrc', ROOT), join(folder, '.npmrc'));
    assert.equal(install(), false);
    writeFileSync(join(folder, '.npmrc'), '');
    assert.equal(install(), true, 'it would without the setting');
  });

  test('needs no newer Node than the README says, or npm would warn', () => {
    const [, least] = /npm and Node (\d+) or newer/.exec(readText('README.md')) ?? [];
    const { packages } = JSON.parse(readText('package-lock.json')) as {
      readonly packages: Readonly<Record<string, { readonly engines?: { readonly node?: string } }>>;
    };
    for (const [name, { engines }] of Object.entries(packages)) {
      const [, needed] = /^>= ?(\d+)[\w.]*$/.exec(engines?.node ?? '>=0') ?? [];
      assert.ok(Number(needed) <= Number(least), `${name} needs Node ${engines?.node}`);
    }
  });

  test('and with it npm runs nothing before or after our scripts, so there is nothing', () => {
    const { scripts } = JSON.parse(readText('package.json'));
    assert.deepEqual(
      Object.keys(scripts).filter((name) => /^(?:pre|post)/.test(name)),
      [],
    );
  });
});
