import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import {
  ask,
  createCommandLine,
  createTestTerminal,
  type Run,
} from '../../../../test/support/cloud/cloud-command-line.ts';
import { cloudFolder } from '../../../../test/support/cloud/test-cloud.ts';
import { runCli } from '../../src/cli/cli.ts';

async function createLicense(run: Run, flags = ''): Promise<string> {
  await run('product create cad');
  return (await ask(run, `license create --product cad ${flags}`)).license_key;
}

describe('wrong words', () => {
  for (const [words, sentence] of [
    ['lisence list', /^Unknown command "lisence list"\. Did you mean "license list"\?\n/],
    ['license delete K', /^Unknown command .*Did you mean "license disable" or "license reset"\?\n/],
    ['key revoke K', /^Unknown command "key revoke"\. Did you mean "key disable"\?\n/],
    ['revoke 3', /^Unknown command "revoke 3"\. Did you mean "key disable", "license disable" or /],
    ['machines', /^Unknown command "machines"\. Did you mean "device list"\?\n/],
    ['license show', /^"cloud license show" needs KEY\.\n/],
    ['license list all', /^Unexpected argument after "license list"\.\n/],
    ['license list --slots 5', /^"cloud license list" does not accept --slots\.\n/],
    ['license create --slot 5', /^Unknown flag "--slot"\. Did you mean "--slots"\?\n/],
    ['license create', /needs --product CODE/],
    ['license create --product cad --activations 1 --unlimited-activations', /contradict each other/],
    ['license extend K', /needs --until/],
    ['license change K', /flag for what to change/],
    ['serve now', /^Unexpected argument after "serve"\.\n/],
    ['serve --tls-cert a.pem', /^TLS needs both/],
    ['demo --tls-cert a.pem', /^"cloud demo" does not accept --tls-cert\.\n/],
  ] as const) {
    test(words, async (t) => {
      const run = createCommandLine(t);
      await run('key create');
      const { code, out, err } = await run(words);
      assert.deepEqual([code, out], [2, '']);
      assert.match(err, sentence);
      assert.match(err, /\n\nUsage: cloud [a-z]/, 'how it is done follows');
    });
  }
});

test('reports an unknown flag without a command', async (t) => {
  const { code, out, err } = await createCommandLine(t)('--hlep');
  assert.deepEqual([code, out], [2, '']);
  assert.match(
    err,
    /^Unknown flag "--hlep"\. Did you mean "--help"\?\n"cloud help" lists the commands\.\n?$/,
  );
});

describe('help', () => {
  for (const [words, code, sentence] of [
    ['', 2, /^Usage: cloud COMMAND/],
    ['help', 0, /^Usage: cloud COMMAND/],
    ['--help', 0, /^Usage: cloud COMMAND/],
    ['--version', 0, /^cloud \d+\.\d+\.\d+$/],
    ['version', 0, /^cloud \d+\.\d+\.\d+$/],
    ['-v', 0, /^cloud \d+\.\d+\.\d+$/],
    ['license', 2, /^Usage: cloud license COMMAND\n/],
    ['license -h', 0, /^Usage: cloud license COMMAND\n/],
    ['help license extend', 0, /^Usage: cloud license extend KEY --until DATE\|never\n/],
    ['license extend --help', 0, /^Usage: cloud license extend KEY --until DATE\|never\n/],
    ['help features', 0, /consumptions=100/],
  ] as const) {
    test(`cloud ${words}`, async (t) => {
      const data = join(cloudFolder(t), 'none');
      const { code: ended, out, err } = await createCommandLine(t, data)(words);
      assert.deepEqual([ended, err], [code, '']);
      assert.match(out, sentence);
      assert.equal(existsSync(data), false);
    });
  }
});

describe('wrong values', () => {
  for (const [words, sentence] of [
    ['product create cad --authorization face', /Allowed: license-key, user\./],
    ['license create --product cad --slots many', /^"slots" cannot be "many"\./],
    ['license create --product cad --type eternal', /Allowed: perpetual/],
    ['license create --product cad --valid-until soon', /such as 2027-01-31/],
    ['license create --product cad --metadata [1]', /one JSON object/],
    ['license create --product cad --feature a,b=c', /has no "b"/],
    ['license create --product site --user ann', /The password on standard input must have 8/],
    ['serve --trusted-proxies 10.0.0.1,proxy', /^"trusted-proxies" cannot be "proxy"/],
    ['serve --log-level loud', /^"log-level" cannot be "loud"\. Allowed: debug, info, warn, error\.$/],
    ['serve --log-format xml', /^"log-format" cannot be "xml"\. Allowed: auto, json, text\.$/],
    ['serve --port 99999', /^"port" cannot be "99999"/],
    ['event list --limit 0', /^"limit" cannot be "0"/],
  ] as const) {
    test(words, async (t) => {
      const run = createCommandLine(t);
      await run('product create site --authorization user');
      const { code, err } = await run(words);
      assert.equal(code, 2);
      assert.match(err, sentence);
      assert.ok(!err.includes('\n'), 'one sentence');
    });
  }
});

describe('refusals', () => {
  for (const [words, sentence] of [
    ['license create --product cam', /The product "cam" does not exist\. "cloud product list.* adds one\.$/],
    [
      'license create --product cad --key K-1234',
      /already exists\. Choose another; "cloud license show K-1234/,
    ],
    ['license create --product cad --key abc', /4 to 128/],
    ['license create --product cad --type time-limited', /needs an end/],
    ['license create --product crm', /issues licenses to users/],
    ['license show NONE', /No license has the key "NONE"\. "cloud license list.* shows the license keys\.$/],
    ['license disable NONE', /No license has the key "NONE"/],
    ['product create cad', /The product "cad" already exists\. "cloud product list/],
    ['product create a/b', /is not a valid product code/],
    ['key create --name key-1', /The key "key-1" already exists/],
    ['key disable nobody', /The key "nobody" does not exist\. "cloud key list/],
    ['device unblock m', /is not barred\. "cloud device list/],
    ['license list --product cam', /The product "cam" does not exist/],
    ['device list NONE', /No license has the key "NONE"/],
    ['event list --license NONE', /No license has the key "NONE"/],
  ] as const) {
    test(words, async (t) => {
      const run = createCommandLine(t);
      await run('key create');
      await run('product create cad');
      await run('product create crm --authorization user');
      await run('license create --product cad --key K-1234');
      const { code, out, err } = await run(words);
      assert.deepEqual([code, out], [1, '']);
      assert.match(err, sentence);
      const { out: json } = await run(`${words} --json`);
      assert.match(JSON.parse(json).message, sentence);
    });
  }

  test('reports at once a folder that cannot be used', async (t) => {
    const file = join(cloudFolder(t), 'file');
    writeFileSync(file, '');
    for (const words of ['license list', 'key create']) {
      const { code, err } = await createCommandLine(t, file)(words);
      assert.equal(code, 1);
      assert.match(err, /file is a file, not a folder\./);
    }
    if (!existsSync('/proc/self')) return;
    const { err } = await createCommandLine(t, '/proc/cloud')('key create');
    assert.match(err, /cannot be created: Cannot create a folder in \/proc\./);
  });

  test('looking at a folder without a cloud does not create one', async (t) => {
    const run = createCommandLine(t, join(cloudFolder(t), 'none'));
    const { code, err } = await run('license list');
    assert.equal(code, 1);
    assert.match(err, /There is no cloud in .+none\./);
    assert.equal((await run('license list')).code, 1);
  });
});

describe('keys', () => {
  test('are shown once, and then by their first letters', async (t) => {
    const run = createCommandLine(t);
    const key = await ask(run, 'key create --name berth');
    assert.ok(key.api_key.length >= 32 && key.shared_key.length >= 32);
    const { out } = await run('key list');
    assert.match(out, /^name +customer +API key +enabled +created at\nberth +- +[0-9a-f]{8}… +yes +\d/);
    assert.ok(!out.includes(key.api_key) && !out.includes(key.shared_key));
    assert.ok(!JSON.stringify(await ask(run, 'key list')).includes(key.shared_key));
  });

  test('are disabled by name or by their first letters', async (t) => {
    const run = createCommandLine(t);
    const first = await ask(run, 'key create');
    await run('key create');
    await run(`key disable ${first.api_key.slice(0, 8)}`);
    await run('key disable key-2');
    const { keys } = await ask(run, 'key list');
    assert.deepEqual(
      keys.map((key: { enabled: boolean }) => key.enabled),
      [false, false],
    );
    assert.equal((await run(`key disable ${first.api_key.slice(0, 3)}`)).code, 1, 'too few letters');
  });

  test('the public key is PEM', async (t) => {
    const { out } = await createCommandLine(t)('public-key');
    assert.match(out, /^-----BEGIN PUBLIC KEY-----\n[\s\S]+\n-----END PUBLIC KEY-----$/);
  });
});

describe('licenses', () => {
  test('have a key that is easy to type', async (t) => {
    const run = createCommandLine(t);
    await run('product create cad');
    const { out } = await run('license create --product cad');
    assert.match(out, /^license key {2}(?:[A-HJ-NP-Z2-9]{4}-){3}[A-HJ-NP-Z2-9]{4}\nid {11}\d{6,16}$/);
  });

  test('grant what their flags say', async (t) => {
    const run = createCommandLine(t);
    const key = await createLicense(
      run,
      "--slots 5 --timeout 10 --borrow-hours 168 --starts-at 2026-01-01 --valid-until '2030-01-31 12:00' " +
        '--grace-hours 24 --unlimited-activations --consumptions 1000 --overages 50 --negative ' +
        '--period monthly --feature render,slots=2 --feature export,consumptions=100 ' +
        `--max-offline-days 30 --metadata '{"tier":"gold"}' --company ACME --customer acme`,
    );
    const { id, features, ...facts } = await ask(run, `license show ${key}`);
    assert.deepEqual(facts, {
      license_key: key,
      product: 'cad',
      user: null,
      customer: 'acme',
      type: 'consumption',
      enabled: true,
      state: 'not activated',
      starts_at: '2026-01-01T00:00:00.000Z',
      valid_until: '2030-01-31T12:00:00.000Z',
      grace_hours: 24,
      slots: 5,
      timeout_minutes: 10,
      borrow_hours: 168,
      activations: 0,
      max_activations: null,
      transfer_count: 0,
      total_consumptions: 0,
      max_consumptions: 1000,
      max_overages: 50,
      allow_negative_consumptions: true,
      consumption_period: 'monthly',
      company: 'ACME',
      metadata: { tier: 'gold', max_offline_days: 30 },
      devices: [],
    });
    const ids = [id, ...features.map((feature: { id: number }) => feature.id)];
    assert.deepEqual([new Set(ids).size, Math.min(...ids) >= 1000], [3, true]);
    const { out } = await run(`license show ${key}`);
    assert.match(out, /consumption +0 of 1000 and 50 beyond, monthly, can be taken back/);
    assert.match(out, /activations +0 of any number/);
  });

  test('end with the named day, or start with it; a time is taken as it is', async (t) => {
    const run = createCommandLine(t);
    const key = await createLicense(
      run,
      '--slots 1 --starts-at 2030-01-31 --valid-until 2030-01-31 --feature pdf,expires=2030-01-31',
    );
    const { starts_at, valid_until, features } = await ask(run, `license show ${key}`);
    assert.equal(starts_at, '2030-01-31T00:00:00.000Z');
    assert.equal(valid_until, '2030-01-31T23:59:59.999Z');
    assert.equal(features[0].expires_at, '2030-01-31T23:59:59.999Z');
    for (const [until, expected] of [
      ['2028-02-29', '2028-02-29T23:59:59.999Z'],
      ['2030-03-01T00:00:00Z', '2030-03-01T00:00:00.000Z'],
      ["'2030-03-01 12:00'", '2030-03-01T12:00:00.000Z'],
    ] as const) {
      const changed = await ask(run, `license change ${key} --starts-at never --valid-until ${until}`);
      assert.equal(changed.valid_until, expected, until);
    }
  });

  test('without slots are granted with a warning', async (t) => {
    const run = createCommandLine(t);
    await run('product create cad');
    for (const [words, sentence] of [
      [
        '',
        /^This license has no slots: servers have nothing to lend\. .*change \S+ --slots N --data \S+"\.$/,
      ],
      ['--slots 0', /^This license has no slots: /],
      ['--consumptions 5', /^This license has no slots: servers count its consumption but lend nothing\. /],
      ['--slots 1', /^$/],
    ] as const) {
      const { code, err } = await run(`license create --product cad ${words}`);
      assert.equal(code, 0);
      assert.match(err, sentence, words);
    }
    const { code, out, err } = await run('license create --product cad --json');
    assert.deepEqual([code, JSON.parse(out).slots], [0, 0]);
    assert.match(err, /no slots/, 'beside the JSON, not in it');
    const key = await createLicense(run, '--slots 1');
    assert.match((await run(`license change ${key} --slots 0`)).err, /no slots/);
  });

  test('that cannot be granted do not ask for a password', async (t) => {
    const data = cloudFolder(t);
    const run = createCommandLine(t, data);
    await run('product create cad');
    await run('product create site --authorization user');
    assert.equal((await run('license create --product site --user ada --key ABCD', 'long enough')).code, 0);
    const unasked = () => assert.fail('asked for a password');
    for (const [words, sentence] of [
      ['license create --product nothing --user bob', /^The product "nothing" does not exist\. /],
      ['license create --product cad --user bob', /has no users/],
      ['license create --product site --user ada', /already has a license for product "site"/],
      ['license create --product site --user bob --key ABCD', /A license with the key .* already exists/],
      ['license change NONE --user bob', /NONE|no license/],
    ] as const) {
      const { code, err } = await run(words, unasked);
      assert.equal(code, 1, words);
      assert.match(err, sentence);
    }
  });

  test('change by the same flags', async (t) => {
    const run = createCommandLine(t);
    const key = await createLicense(run, '--slots 5 --feature a,slots=1 --feature b,slots=1 --company ACME');
    const words = '--slots 7 --feature a,slots=3 --feature c --without-feature b';
    const after = await ask(run, `license change ${key} ${words}`);
    assert.equal(after.slots, 7);
    assert.equal(after.company, 'ACME');
    const features = after.features.map((one: { code: string; slots: number }) => [one.code, one.slots]);
    assert.deepEqual(features, [
      ['a', 3],
      ['c', 0],
    ]);
    assert.equal((await run(`license change ${key} --without-feature b`)).code, 1);
  });

  test('are extended, for ever too', async (t) => {
    const run = createCommandLine(t);
    const key = await createLicense(run, '--valid-until 2020-01-01');
    assert.equal((await ask(run, `license show ${key}`)).state, 'expired');
    const extended = await ask(run, `license extend ${key} --until 2099-01-01`);
    assert.deepEqual([extended.valid_until, extended.type], ['2099-01-01T23:59:59.999Z', 'time-limited']);
    const forEver = await ask(run, `license extend ${key} --until never`);
    assert.deepEqual([forEver.valid_until, forEver.type], [null, 'perpetual']);
  });

  test('are disabled, enabled, reset and listed', async (t) => {
    const run = createCommandLine(t);
    const key = await createLicense(run, '--slots 5');
    assert.equal((await run(`license disable ${key}`)).out, `Disabled license ${key}.`);
    assert.match((await run('license list')).out, /disabled/);
    assert.equal((await ask(run, `license enable ${key}`)).enabled, true);
    assert.equal((await run(`license reset ${key}`)).code, 0);
    const { events } = await ask(run, `event list --license ${key}`);
    assert.deepEqual(
      events.map((event: { kind: string }) => event.kind),
      ['license_reset', 'license_enabled', 'license_disabled', 'license_created'],
    );
  });

  test('belong to users, whose passwords are stored nowhere', async (t) => {
    const run = createCommandLine(t);
    await run('product create crm --authorization user');
    const license = await ask(run, 'license create --product crm --user ann', 'correct horse');
    assert.equal(license.user, 'ann');
    const again = await run('license create --product crm --user ann', 'correct horse');
    assert.match(again.err, /"ann" already has a license/);
    const { code } = await run(`license change ${license.license_key} --user bob`, 'battery staple');
    assert.equal(code, 0);
    const { out } = await run('event list --json');
    assert.doesNotMatch(out, /correct horse|battery staple|scrypt/);
  });
});

test('warns about an unknown variable, and suggests the one that was meant', async (t) => {
  const data = cloudFolder(t);
  const err: string[] = [];
  const env = { LICENSING_CLOUD_DATA: data, LICENSING_CLOUD_DAAT: data, BERTH_PROT: '1' };
  const options = { env, program: 'cloud', home: data, terminal: createTestTerminal({ err }) };
  assert.equal(await runCli(['key', 'create'], options), 0);
  const meant = 'Did you mean "LICENSING_CLOUD_DATA"?';
  assert.deepEqual(err, [`The environment variable LICENSING_CLOUD_DAAT is unknown. ${meant}`]);
});

describe('machines and the rest', () => {
  test('are barred before they are seen, and can be admitted again', async (t) => {
    const run = createCommandLine(t);
    await run('key create');
    assert.equal((await run('device list')).out, 'No devices.');
    assert.equal((await run('device block evil')).code, 0);
    assert.match((await run('device list')).out, /barred +since\nevil +\d/);
    assert.equal((await run('device block evil')).code, 1, 'once');
    assert.equal((await run('device unblock evil')).code, 0);
  });

  test('events are listed, newest first', async (t) => {
    const run = createCommandLine(t);
    await run('key create --name berth');
    await run('product create cad');
    const { out } = await run('event list');
    assert.match(
      out,
      /^at +license +event\n\S+ +- +product_created +product=cad name=cad\n\S+ +- +key_created/,
    );
    assert.equal((await ask(run, 'event list --limit 1')).events.length, 1);
  });
});
