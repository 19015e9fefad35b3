import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { createCarriedServer } from '../../../../../test/support/cloud/carried-server.ts';
import { ask, createCommandLine, type Run } from '../../../../../test/support/cloud/cloud-command-line.ts';
import { cloudFolder } from '../../../../../test/support/cloud/test-cloud.ts';

async function listKeys(run: Run, flags: string): Promise<string> {
  const { licenses } = await ask(run, `license list ${flags}`);
  return licenses.map((one: { license_key: string }) => one.license_key.replace('KEY-', '')).join(' ');
}

describe('license list', () => {
  test('has the licenses that fit all flags', async (t) => {
    const run = createCommandLine(t);
    for (const words of ['cad', 'cam', 'web --authorization user']) await run(`product create ${words}`);
    await run('license create --product cad --key KEY-1 --slots 1 --customer acme --valid-until 2020-01-31');
    await run(
      'license create --product cad --key KEY-2 --slots 1 --customer globex --valid-until 2099-01-31',
    );
    await run('license create --product cam --key KEY-3 --slots 1 --company ACME');
    await run('license create --product web --key KEY-4 --slots 1 --user ann', 'long enough');
    await run('license disable KEY-3');
    for (const [flags, expected] of [
      ['', '1 2 3 4'],
      ['--product cad', '1 2'],
      ['--customer acme', '1'],
      ['--company ACME', '3'],
      ['--user ann', '4'],
      ['--state expired', '1'],
      ['--state not-activated', '2 4'],
      ["--state 'not activated'", '2 4'],
      ['--state disabled', '3'],
      ['--ends-before 2020-01-31', ''],
      ['--ends-before 2020-02-01', '1'],
      ['--ends-before 2100-01-01', '1 2'],
      ['--product cad --ends-before 2100-01-01 --state not-activated', '2'],
    ] as const) {
      assert.equal(await listKeys(run, flags), expected, flags);
    }
    assert.equal((await run('license list --customer nobody')).out, 'No licenses.');
    const { code, err } = await run('license list --state expird');
    assert.equal(code, 2);
    assert.match(err, /^"state" cannot be "expird"\. Allowed: active, in-grace, expired, disabled, not-act/);
  });
});

describe('a date in the past', () => {
  test('is accepted with a warning, when it is given', async (t) => {
    const run = createCommandLine(t);
    await run('product create cad');
    const created = await run('license create --product cad --key KEY-1 --slots 1 --valid-until 2020-01-31');
    assert.equal(created.code, 0);
    assert.match(
      created.err,
      /^The end of this license, 2020-01-31T\S+, is in the past, so it is expired\. Change/,
    );
    const changed = await run('license change KEY-1 --slots 2');
    assert.deepEqual([changed.code, changed.err], [0, '']);
    assert.equal((await run('license extend KEY-1 --until 2099-01-31')).err, '');
    assert.match((await run('license extend KEY-1 --until 2020-02-01')).err, /in the past, so it is expired/);
    const inGrace = await run('license change KEY-1 --valid-until 2020-02-01 --grace-hours 87600');
    assert.match(inGrace.err, /is in the past\. Change it with/);
    const feature = await run(
      'license change KEY-1 --valid-until 2099-01-31 --feature pdf,expires=2020-01-31',
    );
    assert.match(feature.err, /^The feature "pdf" expired at 2020-01-31T\S+, which is in the past\.$/);
  });
});

describe('device list', () => {
  test('says which license each machine has, and finds a machine by its id', async (t) => {
    const data = cloudFolder(t);
    const run = createCommandLine(t, data);
    await run('product create cad');
    for (const [key, machine] of [
      ['KEY-1', 'machine-1'],
      ['KEY-2', 'machine-2'],
    ] as const) {
      await run(`license create --product cad --key ${key} --slots 1`);
      const file = join(data, `${key}.req`);
      writeFileSync(file, createCarriedServer(machine).request({ licenseKey: key }));
      assert.equal((await run(`offline activate ${file}`)).code, 0);
    }
    const { out } = await run('device list');
    assert.match(out, /^device +license +host .*\nmachine-1 +KEY-1 .*\nmachine-2 +KEY-2 /);
    const found = await ask(run, 'device list --device machine-2');
    assert.deepEqual(
      found.devices.map((one: { license_key: string }) => one.license_key),
      ['KEY-2'],
    );
    assert.doesNotMatch((await run('device list --device machine-2')).out, /machine-1/);
  });
});
