import assert from 'node:assert/strict';
import { chmodSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { suggest } from '@berth/protocol/suggest';
import { temporaryFolder } from '../../../test/support/server-process.ts';
import {
  type Config,
  ConfigError,
  envOf,
  flagOf,
  listChanged,
  loadConfig,
  showConfig,
} from '../src/config.ts';
import { SEALED_SETTINGS } from '../src/core/nouns/stored-setting.ts';
import { SETTINGS } from '../src/settings.ts';

type Kind = 'string' | 'number' | 'boolean' | 'list';

type Given = Partial<Parameters<typeof loadConfig>[0]> & { readonly mode?: number };

/** Without a file of its own it reads an empty one, so that no berth.yaml of the machine counts. */
function load(
  t: { after(work: () => void): void },
  yaml: string,
  { flags = {}, env = {}, mode = 0o600 }: Given = {},
) {
  const file = join(temporaryFolder(t), 'berth.yaml');
  writeFileSync(file, yaml);
  chmodSync(file, mode);
  return loadConfig({ flags, env, file });
}

function readSetting(config: Config, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], config);
}

/** Settings that are nothing without others. */
const NEEDED: Readonly<Record<string, string>> = {
  'tls.cert': 'tls.key: k\n',
  'tls.key': 'tls.cert: c\n',
  'tls.clientCa': 'tls.cert: c\ntls.key: k\n',
};

/** Settings that do not take every text. */
const FORMS: Readonly<Record<string, string>> = {
  'auth.ldap.bindPassword': 'geheim',
  'auth.ldap.filter': '(cn={name})',
  'auth.ldap.groupFilter': '(uniqueMember={dn})',
  'auth.ldap.url': 'ldaps://dc.example',
  'auth.oidc.clientSecret': 'geheim',
  'auth.oidc.issuer': 'https://login.example/realms/a',
  'backup.schedule': '6h',
  'database.url': 'postgres://db.example/berth',
  'auth.oidc.productOperators': 'cad=team',
  'auth.ldap.productOperators': 'cad=cn=team',
  'syslog.url': 'tls://siem.example:6514',
  'webhooks.url': 'https://hooks.example/berth',
  'http.allowedOrigins': 'https://app.example',
};

describe('where a setting comes from', () => {
  test('defaults, when nothing is set', (t) => {
    const { config, warnings } = load(t, '');
    assert.deepEqual(warnings, []);
    assert.equal(config.data, resolve('./data'));
    for (const { path, default: value } of SETTINGS) {
      if (path !== 'data') assert.equal(readSetting(config, path), value, path);
    }
  });

  test('flags over environment over file over defaults', (t) => {
    const yaml = 'port: 1\nlog:\n  level: debug\nhost: 10.0.0.1';
    const env = { BERTH_PORT: '2', BERTH_LOG_LEVEL: 'warn' };
    const fromFile = load(t, yaml).config;
    const fromEnv = load(t, yaml, { env }).config;
    const fromFlags = load(t, yaml, { env, flags: { port: '3' } }).config;
    assert.deepEqual([fromFile.port, fromEnv.port, fromFlags.port], [1, 2, 3]);
    assert.deepEqual([fromFile.log.level, fromFlags.log.level], ['debug', 'warn']);
    assert.equal(fromFlags.host, '10.0.0.1');
    assert.equal(fromFlags.log.format, 'auto');
  });

  test('every setting can be given in each of the three ways', (t) => {
    for (const setting of SETTINGS) {
      const { path, oneOf } = setting;
      const kind = (Array.isArray(setting.default) ? 'list' : typeof setting.default) as Kind;
      const other = { string: '/elsewhere', number: '7', boolean: 'true', list: '10.0.0.1' }[kind];
      const value = oneOf?.at(-1) ?? FORMS[path] ?? other;
      const expected = { string: value, number: 7, boolean: true, list: [value] }[kind];
      const needed = NEEDED[path] ?? '';
      const ways = [
        load(t, `${needed}${path}: ${kind === 'list' ? `[${value}]` : value}`),
        load(t, needed, { env: { [envOf(path)]: value } }),
        load(t, needed, { flags: { [flagOf(path)]: value } }),
      ];
      for (const { config } of ways) assert.deepEqual(readSetting(config, path), expected, path);
    }
  });

  test('names of flags and variables follow the path', () => {
    assert.equal(flagOf('http.maxConnectionsPerAddress'), 'http-max-connections-per-address');
    assert.equal(envOf('http.maxConnectionsPerAddress'), 'BERTH_HTTP_MAX_CONNECTIONS_PER_ADDRESS');
  });

  test('sections and dotted names are the same', (t) => {
    const nested = load(t, 'log:\n  format: json\n  requests: true');
    assert.deepEqual(
      showConfig(load(t, 'log.format: json\nlog.requests: true').config),
      showConfig(nested.config),
    );
    assert.equal(nested.config.log.requests, true);
  });

  test('a flag without a value is true, and false can be given', (t) => {
    assert.equal(load(t, '', { flags: { 'log-requests': true } }).config.log.requests, true);
    const env = { BERTH_LOG_REQUESTS: 'false' };
    assert.equal(load(t, 'log.requests: true', { env }).config.log.requests, false);
  });

  test('port 0 takes a free one', (t) => {
    assert.equal(load(t, '', { flags: { port: '0' } }).config.port, 0);
    assert.equal(load(t, 'port: 0').config.port, 0);
  });

  test('a relative data folder is made absolute', (t) => {
    assert.equal(load(t, 'data: ./here').config.data, resolve('./here'));
  });
});

describe('a secret in a file', () => {
  const secrets = SETTINGS.filter(({ show }) => show !== undefined).map(({ path }) => path);
  const url = 'postgres://db.example/berth';

  function write(t: { after(work: () => void): void }, text: string): string {
    const file = join(temporaryFolder(t), 'secret');
    writeFileSync(file, text);
    return file;
  }

  test('can be given for every setting that contains one, and for no other', (t) => {
    const ofPeople = ['auth.oidc.clientSecret', 'auth.ldap.bindPassword'];
    assert.deepEqual(secrets, ['database.url', ...ofPeople, 'webhooks.url']);
    for (const path of secrets) {
      const text = FORMS[path] ?? '';
      const { config, warnings } = load(t, '', { env: { [`${envOf(path)}_FILE`]: write(t, text) } });
      assert.deepEqual([readSetting(config, path), warnings], [text, []]);
    }
    const [warning] = load(t, '', { env: { BERTH_HOST_FILE: '/none' } }).warnings;
    assert.match(warning ?? '', /^The environment variable BERTH_HOST_FILE is unknown\./);
  });

  test('that can change while the server runs is one that the store seals', () => {
    const live = SETTINGS.filter(({ isLive, show }) => isLive === true && show !== undefined);
    assert.deepEqual(
      live.map(({ path }) => path),
      SEALED_SETTINGS,
    );
  });

  test('ends with one line end that does not count', (t) => {
    for (const [text, secret] of [
      ['https://a.example/\n', 'https://a.example/'],
      ['https://a.example/\r\n', 'https://a.example/'],
      [' https://a.example/ \n\n', ' https://a.example/ \n'],
    ] as const) {
      const { config } = load(t, '', { env: { BERTH_WEBHOOKS_URL_FILE: write(t, text) } });
      assert.equal(config.webhooks.url, secret);
    }
  });

  test('counts like its variable: less than a flag, more than berth.yaml', (t) => {
    const env = { BERTH_WEBHOOKS_URL_FILE: write(t, 'https://file.example/') };
    const yaml = 'webhooks.url: https://yaml.example/';
    assert.equal(load(t, yaml, { env }).config.webhooks.url, 'https://file.example/');
    const flags = { 'webhooks-url': 'https://flag.example/' };
    assert.equal(load(t, yaml, { env, flags }).config.webhooks.url, 'https://flag.example/');
    const empty = { BERTH_WEBHOOKS_URL_FILE: '' };
    assert.equal(load(t, yaml, { env: empty }).config.webhooks.url, 'https://yaml.example/');
  });

  for (const name of [...secrets.map(envOf), 'BERTH_MASTER_KEY', 'BERTH_WEBHOOKS_SECRET']) {
    test(`is refused together with ${name}`, (t) => {
      const env = { [name]: 'postgres://db.example/berth', [`${name}_FILE`]: '/none' };
      const message = `${name} and ${name}_FILE are both set. Remove one of them.`;
      assert.throws(() => load(t, '', { env }), new ConfigError(message));
      const text = name.includes('WEBHOOKS') ? 'https://hooks.example/berth' : url;
      assert.doesNotThrow(() => load(t, '', { env: { [name]: '', [`${name}_FILE`]: write(t, text) } }));
    });
  }

  test('in a berth.yaml that everybody can read is warned about, and no other setting is', (t) => {
    if (process.platform === 'win32') return t.skip('files have no mode');
    const warn = (yaml: string, mode: number) => load(t, yaml, { mode }).warnings.join();
    const secret = 'database.url: postgres://berth:geheim@db.example/berth';
    assert.match(warn(secret, 0o644), /can read "database\.url" in .*berth\.yaml\. .* chmod 640 /);
    assert.deepEqual(
      [warn(secret, 0o640), warn('database.url: ""', 0o644), warn('port: 1', 0o644)],
      ['', '', ''],
    );
    assert.equal(warn('database.url: postgres://berth@db/berth', 0o644), '', 'a user is no secret');
  });

  test('that cannot be used is named, with what to do, and not shown', (t) => {
    const refuse = (file: string, message: RegExp) =>
      assert.throws(() => load(t, '', { env: { BERTH_DATABASE_URL_FILE: file } }), message);
    refuse(
      '/none',
      /^Error: BERTH_DATABASE_URL_FILE: The file \/none does not exist\. Correct the path, or let/,
    );
    refuse(write(t, '\n'), /^Error: BERTH_DATABASE_URL_FILE: .*secret is empty\. Write the value into it\.$/);
    refuse(write(t, 'mysql://ann:hidden@x'), /^Error: "database\.url" is not valid\. (?!.*hidden)/);
  });
});

describe('an invalid value is refused with what is allowed', () => {
  const bad: readonly [string, string, RegExp][] = [
    ['port', '65536', /"port" cannot be "65536". Allowed: whole numbers from 0 to 65535\./],
    ['port', '-1', /"port" cannot be "-1"/],
    ['port', '80.5', /"port"/],
    ['port', 'http', /"port"/],
    ['port', '""', /"port"/],
    ['port', 'true', /"port"/],
    ['port', '[80]', /"port"/],
    ['port', '', /"port" cannot be "null"/],
    ['host', '""', /"host" cannot be "". It must not be empty\./],
    ['host', '7', /"host" cannot be "7"/],
    ['log.level', 'loud', /"log.level" cannot be "loud". Allowed: debug, info, warn, error\./],
    ['log.requests', 'maybe', /"log.requests" cannot be "maybe". Allowed: true, false\./],
    ['auth.localAdmin', 'ALWAYS', /Allowed: setup, always, never\./],
    ['http.maxConnections', '0', /from 1 to 100000/],
    ['sweeper.intervalSeconds', '3601', /from 0 to 3600/],
    [
      'http.trustedProxies',
      '[10.0.0.1, proxy.example]',
      /cannot hold "proxy.example". Allowed: a list of addr/,
    ],
    ['http.trustedProxies', '[10.0.0.0/33]', /cannot hold "10.0.0.0\/33"/],
    ['http.trustedProxies', '10.0.0.1;10.0.0.2', /cannot hold "10.0.0.1;10.0.0.2"/],
    ['http.allowedOrigins', '["*"]', /cannot hold "\*". Allowed: a list of origins .* such as "\*"\./],
    ['http.allowedOrigins', 'https://*.example.com', /cannot hold/],
    ['http.allowedOrigins', 'https://app.example.com/', /cannot hold .* without a path or trailing slash/],
    ['http.allowedOrigins', 'https://app.example.com:443', /cannot hold/],
    ['http.allowedOrigins', 'https://App.example.com', /cannot hold .* in lower case/],
    ['http.allowedOrigins', 'app.example.com', /cannot hold/],
    ['http.allowedOrigins', '"null"', /cannot hold "null"/],
    ['http.allowedOrigins', 'ftp://app.example.com', /cannot hold/],
    ['http.allowedOrigins', 'file://', /cannot hold "file:\/\/"/],
    ['http.allowedHosts', 'licenses.example.com:8080', /cannot hold .* without a port/],
    ['http.allowedHosts', '"*.example.com"', /cannot hold "\*.example.com"/],
    ['http.clientRequestsPerMinute', '-1', /from 0 to 1000000/],
    ['tls.cert', 'cert.pem', /^Set both "tls.cert" and "tls.key", or neither/],
    ['tls.key', 'key.pem', /^Set both "tls.cert" and "tls.key"/],
    ['tls.clientCa', 'ca.pem', /"tls.clientCa" needs TLS: set "tls.cert" and "tls.key" too\./],
  ];

  for (const [path, value, message] of bad) {
    test(`${path}: ${value}`, (t) => {
      assert.throws(
        () => load(t, `${path}: ${value}`),
        (error: Error) => {
          assert.ok(error instanceof ConfigError);
          assert.match(error.message, message);
          return true;
        },
      );
    });
  }

  test('in the environment and as a flag too', (t) => {
    assert.throws(() => load(t, '', { env: { BERTH_PORT: '' } }), ConfigError);
    assert.throws(() => load(t, '', { flags: { port: '0x50' } }), ConfigError);
  });
});

describe('an unknown name', () => {
  test('in the file is an error with a suggestion', (t) => {
    const suggestions: Readonly<Record<string, RegExp>> = {
      'prot: 1': /unknown setting "prot"\. Did you mean "port"\?/,
      'log:\n  levle: info': /unknown setting "log\.levle"\. Did you mean "log\.level"\?/,
      'auth.localadmin: never': /Did you mean "auth\.localAdmin"\?/,
      'something.else.entirely: 1': /unknown setting "something\.else\.entirely"\.$/,
    };
    for (const [yaml, message] of Object.entries(suggestions)) {
      assert.throws(() => load(t, yaml), { message });
    }
  });

  test('in the environment is a warning with a suggestion, unless it has another prefix', (t) => {
    const env = {
      BERTH_PROT: '1',
      BERTH_SOMETHING_ELSE_ENTIRELY: '1',
      BERT_PORT: '1',
      BERTH_MASTER_KEY: 'x',
      BERTH_WEBHOOKS_SECRET: 'x',
      BERTH_HARDWARE_ID: 'x',
      BERTH_CALLED_AS: './berth',
      BERTH_MODEL_RUNS: '1',
    };
    assert.deepEqual(load(t, '', { env }).warnings, [
      'The environment variable BERTH_PROT is unknown. Did you mean "BERTH_PORT"?',
      'The environment variable BERTH_SOMETHING_ELSE_ENTIRELY is unknown.',
    ]);
  });

  test('gets a suggestion only if something is similar', () => {
    assert.equal(suggest('stauts', ['status', 'serve']), ' Did you mean "status"?');
    assert.equal(suggest('STATUS', ['status']), ' Did you mean "status"?');
    assert.equal(suggest('xyz', ['status', 'serve']), '');
  });
});

describe('an invalid file', () => {
  test('that was named but does not exist', () => {
    const message = /^Cannot read the settings\. The file \/nowhere\/x\.yaml does not exist\.$/;
    assert.throws(() => loadConfig({ flags: {}, env: {}, file: '/nowhere/x.yaml' }), { message });
  });

  test('that is not YAML, or not names and values', (t) => {
    assert.throws(() => load(t, 'port: [1'), { message: /is not valid YAML/ });
    assert.throws(() => load(t, 'port: 1\nport: 2'), { message: /is not valid YAML/ });
    assert.throws(() => load(t, 'just text'), { message: /must contain names and values/ });
    assert.throws(() => load(t, '- 1'), { message: /must contain names and values/ });
  });
});

test('every setting is read by something', () => {
  const packages = join(import.meta.dirname, '../..');
  const files = globSync('{server,web}/src/**/*.ts', { cwd: packages, exclude: ['server/src/settings.ts'] });
  const words = new Set(files.flatMap((file) => readFileSync(join(packages, file), 'utf8').split(/\W+/)));
  const names = SETTINGS.map(({ path }) => path.split('.').at(-1) as string);
  assert.deepEqual(
    names.filter((name) => !words.has(name)),
    [],
  );
});

test('changed settings can be shown without secrets', (t) => {
  const { config } = load(
    t,
    'auth.clients: required\nwebhooks.url: https://hooks.example/t/secret?token=secret',
  );
  const told = { 'auth.clients': 'required', 'webhooks.url': 'https://hooks.example/…' };
  assert.deepEqual(listChanged(config), told);
  assert.doesNotMatch(JSON.stringify(showConfig(config)), /secret\?|token=/);
});

describe('the address of the database', () => {
  const url = 'postgres://berth:geheim@db.example:5432/berth?password=geheim';

  test('is told without its secrets', (t) => {
    const { config } = load(t, '', { env: { BERTH_DATABASE_URL: url } });
    assert.equal(config.database.url, url);
    const shown = 'postgres://…@db.example:5432/berth';
    assert.deepEqual(listChanged(config), { 'database.url': shown });
    assert.equal(showConfig(config).database.url, shown);
    assert.doesNotMatch(JSON.stringify(showConfig(config)), /geheim/);
  });

  test('is not repeated if it is invalid', (t) => {
    for (const bad of ['mysql://berth:geheim@db/berth', 'postgres://berth:12/geheim@db/berth']) {
      assert.throws(
        () => load(t, `database.url: ${bad}`),
        (error: Error) => {
          assert.ok(error instanceof ConfigError);
          assert.match(error.message, /"database.url" is not valid. Allowed: postgres:/);
          assert.doesNotMatch(error.message, /geheim/);
          return true;
        },
      );
    }
  });

  test('causes a warning on the command line, where others can read it', (t) => {
    const { warnings } = load(t, '', { flags: { 'database-url': url } });
    assert.match(warnings.join(), /every user of this machine can read/);
    assert.doesNotMatch(warnings.join(), /geheim/);
    const given = (text: string) => load(t, '', { flags: { 'database-url': text } }).warnings;
    assert.equal(given('postgres://berth@db/berth?password=geheim').length, 1);
    for (const user of ['', 'berth@', 'berth:@']) assert.deepEqual(given(`postgres://${user}db/berth`), []);
    assert.deepEqual(load(t, '', { env: { BERTH_DATABASE_URL: url } }).warnings, []);
    const webhook = load(t, '', { flags: { 'webhooks-url': 'https://hooks.example/geheim' } }).warnings;
    assert.match(webhook.join(), /^A secret is in --webhooks-url on the command line, (?!.*geheim)/);
  });
});

test('every value that was given is known with its source', (t) => {
  const env = { BERTH_PORT: '1', BERTH_DATABASE_CONNECTIONS: '5', BERTH_HOST: '::1' };
  const { config } = load(t, 'port: 2\ncloud.checkMinutes: 3', { flags: { host: '::' }, env });
  assert.deepEqual(
    [...config.sources].map(([name, { kind, place }]) => [name, kind, place.replace(/.*[\\/]/, '')]),
    [
      ['host', 'flag', '--host'],
      ['port', 'environment', 'BERTH_PORT'],
      ['database.connections', 'environment', 'BERTH_DATABASE_CONNECTIONS'],
      ['cloud.checkMinutes', 'file', 'berth.yaml'],
    ],
  );
});
