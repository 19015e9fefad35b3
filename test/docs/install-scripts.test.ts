import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { temporaryFolder } from '../support/server-process.ts';

const ROOT = new URL('../../', import.meta.url);

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

  test('and with it npm runs nothing before or after our scripts, so there is nothing', () => {
    const { scripts } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8'));
    assert.deepEqual(
      Object.keys(scripts).filter((name) => /^(?:pre|post)/.test(name)),
      [],
    );
  });
});
