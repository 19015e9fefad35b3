import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { listFlags } from '@berth/shell/console/command-flags';
import { parse, parseAllDocuments } from 'yaml';
import { KUBERNETES } from '../../build/release/smoke.ts';
import { ENTRIES } from '../../packages/server/src/cli/usage.ts';
import { flagOf, loadConfig } from '../../packages/server/src/config.ts';
import { SETTINGS } from '../../packages/server/src/settings.ts';
import { PROJECT } from '../support/clone.ts';
import { temporaryFolder } from '../support/server-process.ts';

const read = (path: string) => readFileSync(join(PROJECT, path), 'utf8');

/** One instruction per line. */
const DOCKERFILE = read('Dockerfile')
  .replaceAll('\\\n', ' ')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split(/\s+/));

function instructions(name: string): readonly (readonly string[])[] {
  return DOCKERFILE.filter(([first]) => first === name).map(([, ...words]) => words);
}

interface Service {
  readonly image: string;
  readonly build?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly secrets?: readonly string[];
  readonly networks?: readonly string[] | Readonly<Record<string, { readonly ipv4_address: string } | null>>;
  readonly read_only?: boolean;
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes?: object;
  readonly networks?: object;
  readonly secrets?: Readonly<Record<string, { readonly file: string }>>;
}

/** Settings that the server would accept, without a word. Secrets come from files that contain one. */
function expectKnown(
  t: { after(work: () => void): void },
  variables: Readonly<Record<string, string>>,
): void {
  const folder = temporaryFolder(t);
  const secret = join(folder, 'secret');
  writeFileSync(secret, 'postgres://db.example/berth\n');
  const own = Object.entries(variables).filter(([name]) => name.startsWith('BERTH_'));
  const env = Object.fromEntries(
    own.map(([name, value]) => [name, value.startsWith('/run/secrets/') ? secret : value]),
  );
  assert.deepEqual(loadConfig({ flags: {}, env, file: null, home: folder }).warnings, []);
}

/** A command with flags that it takes. */
function expectCommand(words: readonly string[]): void {
  const command = ENTRIES.find(
    (entry) => entry.words === words.filter((word) => !word.startsWith('-')).join(' '),
  );
  const taken = [...SETTINGS.map(({ path }) => flagOf(path)), ...listFlags(command?.usage ?? '')];
  const flags = words.filter((word) => word.startsWith('--')).map((word) => word.slice(2));
  assert.ok(command !== undefined && flags.every((flag) => taken.includes(flag)), words.join(' '));
}

describe('the Dockerfile', () => {
  const copies = instructions('COPY').filter((words) => !words.some((word) => word.startsWith('--from')));

  test('copies files that exist, and that .dockerignore lets through', () => {
    const let_through = read('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'));
    assert.ok(copies.length > 0);
    for (const path of copies.flatMap((words) => words.slice(0, -1))) {
      assert.ok(existsSync(join(PROJECT, path)), path);
      assert.ok(let_through.includes(`!${path.split('/')[0]}`), path);
    }
  });

  test('copies every package', () => {
    const { workspaces } = JSON.parse(read('package.json')) as { workspaces: readonly string[] };
    // npm ci leaves out a workspace whose folder is missing, here that of a test.
    assert.deepEqual(workspaces, ['packages/*', 'test/client/generated']);
    const manifests = copies.flat().filter((path) => /^packages\/\w+\/package\.json$/.test(path));
    const locked = Object.keys((JSON.parse(read('package-lock.json')) as { packages: object }).packages);
    const packages = locked
      .filter((path) => /^packages\/\w+$/.test(path))
      .map((path) => `${path}/package.json`);
    assert.deepEqual(manifests.sort(), packages.sort());
  });

  test('has settings and commands that there are', (t) => {
    const pairs = instructions('ENV')
      .flat()
      .map((pair) => pair.split('=', 2) as [string, string]);
    expectKnown(t, Object.fromEntries(pairs));
    const [[...command] = []] = instructions('CMD');
    expectCommand(JSON.parse(command.join(' ')));
    const health = instructions('HEALTHCHECK').flat().join(' ');
    const [program, ...words] = JSON.parse(health.slice(health.indexOf('['))) as string[];
    expectCommand(words);
    assert.deepEqual([program], JSON.parse(instructions('ENTRYPOINT').flat().join(' ')));
    assert.equal(
      instructions('COPY').some((copied) => copied.at(-1) === program),
      true,
    );
  });

  test('does not run as root, and keeps its data in one volume', () => {
    assert.deepEqual(instructions('USER'), [['65532:65532']]);
    assert.deepEqual(instructions('VOLUME'), [['["/var/lib/berth"]']]);
  });
});

for (const name of ['compose.single.yaml', 'compose.postgres.yaml']) {
  describe(`deploy/${name}`, () => {
    const compose = parse(read(`deploy/${name}`), { merge: true }) as Compose;
    const services = Object.entries(compose.services);
    const own = services.filter(([, { build }]) => build !== undefined);

    test('has settings and commands that there are', (t) => {
      assert.ok(own.length > 0);
      for (const [, { environment = {}, command = ['serve'] }] of own) {
        expectKnown(t, environment);
        expectCommand(command);
      }
    });

    test('gives every server a volume of its own, and a root that is read-only', () => {
      const volumes = own.map(([, service]) => service.volumes?.[0]);
      assert.equal(new Set(volumes).size, own.length);
      for (const volume of volumes) assert.match(volume ?? '', /:\/var\/lib\/berth$/);
      for (const [, service] of own) assert.equal(service.read_only, true);
    });

    test('names volumes, networks and secrets that it declares, and secrets that a service has', () => {
      for (const [, { volumes = [], networks = [], secrets = [], environment = {} }] of services) {
        const named = volumes.map((one) => one.split(':', 1)[0] ?? '').filter((one) => !one.startsWith('.'));
        for (const one of named) assert.ok(one in (compose.volumes ?? {}), one);
        const joined = Array.isArray(networks) ? networks : Object.keys(networks);
        for (const one of joined) assert.ok(one in (compose.networks ?? {}), one);
        for (const one of secrets) assert.ok(one in (compose.secrets ?? {}), one);
        const files = Object.values(environment).filter((value) => value.startsWith('/run/secrets/'));
        for (const file of files) assert.ok(secrets.includes(file.slice('/run/secrets/'.length)), file);
      }
    });

    test('uses secrets that docs/install.md creates', () => {
      const page = read('docs/install.md');
      for (const { file } of Object.values(compose.secrets ?? {}))
        assert.ok(page.includes(`deploy/${file}`), file);
    });
  });
}

test('the proxy in deploy/ knows the servers, and they know the proxy', () => {
  const { services } = parse(read('deploy/compose.postgres.yaml'), { merge: true }) as Compose;
  const nginx = read('deploy/nginx.conf');
  const servers = Object.keys(services).filter((name) => services[name]?.build !== undefined);
  const proxied = [...nginx.matchAll(/^ +server ([\w-]+):(\d+) /gm)].map(([, host, port]) => [host, port]);
  assert.deepEqual(
    proxied,
    servers.map((host) => [host, '8080']),
  );
  const { networks = {}, secrets = [] } = services.proxy ?? assert.fail('no proxy');
  const address = (networks as { front: { ipv4_address: string } }).front.ipv4_address;
  for (const name of servers) {
    assert.equal(services[name]?.environment?.BERTH_HTTP_TRUSTED_PROXIES, address);
  }
  const files = [...nginx.matchAll(/\/run\/secrets\/([\w-]+)/g)].map(([, file]) => file);
  assert.deepEqual(files, secrets);
});

interface Container {
  readonly args: readonly string[];
  readonly volumeMounts: readonly { readonly name: string }[];
}

interface Resource {
  readonly kind: string;
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: {
    readonly template?: {
      readonly spec: {
        readonly containers: readonly Container[];
        readonly volumes: readonly { readonly name: string }[];
      };
    };
  };
}

describe('the Helm chart', () => {
  const CHART = join(PROJECT, 'deploy', 'helm', 'berth');
  const helm = (...words: string[]) => spawnSync('helm', words, { encoding: 'utf8' });
  const skip = helm('version').status !== 0 && 'optional: needs helm';
  const FOR_KUBERNETES = ['--kube-version', KUBERNETES];
  /** It fetches schemas. There is none for what other projects define. */
  const kubeconform = (input: string) =>
    spawnSync('kubeconform', ['-strict', '-kubernetes-version', KUBERNETES, '-skip', 'ServiceMonitor'], {
      input,
      encoding: 'utf8',
    });
  const ANY = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: any }\n';
  const skipKubeconform =
    skip || (kubeconform(ANY).status !== 0 && 'optional: needs kubeconform and its schemas');
  const template = read('deploy/helm/berth/templates/deployment.yaml');

  test('has the version of the server', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    const chart = parse(read('deploy/helm/berth/Chart.yaml')) as { version: string; appVersion: string };
    assert.deepEqual([chart.version, chart.appVersion], [version, version]);
  });

  test('has settings and files that there are', (t) => {
    const pairs = [...template.matchAll(/name: (BERTH_\w+)\n +value: (\S+)/g)];
    assert.deepEqual(pairs.map(([, name]) => name).sort(), [
      'BERTH_DATABASE_URL_FILE',
      'BERTH_MASTER_KEY_FILE',
      'BERTH_TLS_CERT',
      'BERTH_TLS_KEY',
    ]);
    expectKnown(t, Object.fromEntries(pairs.map(([, name = '', value = '']) => [name, value])));
    const keys = [...template.matchAll(/key: ([\w-]+), path/g)].map(([, key]) => key ?? '');
    const page = read('docs/install.md');
    for (const key of keys) assert.ok(page.includes(`--from-file=${key}=`), key);
    assert.equal(template.match(/path: \/api\/v4\/health, /g)?.length, 2);
  });

  /** Values that switch every part on. */
  function writeValues(t: { after(work: () => void): void }): string {
    const values = join(temporaryFolder(t), 'values.yaml');
    const parts = ['ingress', 'networkPolicy', 'serviceMonitor'].map(
      (part) => `${part}: { enabled: true }\n`,
    );
    const settings = 'settings: { http: { allowedHosts: licenses.example.com } }\ntlsSecretName: tls\n';
    writeFileSync(values, `${parts.join('')}${settings}`);
    return values;
  }

  test('makes what Kubernetes knows, with every part switched on as well', { skip: skipKubeconform }, (t) => {
    for (const more of [[], ['--values', writeValues(t)]]) {
      const made = helm('template', 'one', CHART, ...FOR_KUBERNETES, ...more);
      assert.equal(made.status, 0, made.stderr);
      const { status, stdout, stderr } = kubeconform(made.stdout);
      assert.equal(status, 0, stdout + stderr);
    }
  });

  test('passes helm lint, with every part switched on as well', { skip }, (t) => {
    const values = writeValues(t);
    for (const more of [[], ['--values', values]]) {
      const { status, stdout } = helm('lint', '--strict', CHART, ...more);
      assert.equal(status, 0, stdout);
    }
    const made = helm('template', 'one', CHART, ...FOR_KUBERNETES, '--values', values);
    assert.equal(made.status, 0, made.stderr);
    const resources = parseAllDocuments(made.stdout).map((one) => one.toJS() as Resource);
    assert.equal(resources.length, 8);
    const { data } = resources.find(({ kind }) => kind === 'ConfigMap') ?? assert.fail('no settings');
    const file = join(temporaryFolder(t), 'berth.yaml');
    writeFileSync(file, data?.['berth.yaml'] ?? '');
    assert.deepEqual(loadConfig({ flags: {}, env: {}, file, home: '/nowhere' }).warnings, []);
    const pod = resources.find(({ kind }) => kind === 'Deployment')?.spec?.template?.spec;
    const [container] = pod?.containers ?? [];
    expectCommand(container?.args ?? []);
    const mounted = new Set(container?.volumeMounts.map(({ name }) => name));
    assert.deepEqual([...mounted].sort(), pod?.volumes.map(({ name }) => name).sort());
  });

  test('refuses settings that belong to the chart', { skip }, () => {
    const { status, stderr } = helm('template', 'one', CHART, ...FOR_KUBERNETES, '--set', 'settings.port=1');
    assert.notEqual(status, 0, stderr);
  });
});
