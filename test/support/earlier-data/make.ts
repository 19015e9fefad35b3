/**
 * Creates the data in this folder with the programs of an earlier release. Takes the path of a checkout with
 * `node_modules`. It was run under libfaketime at 2026-02-01, so that the data is never ahead of the clock.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { ADMIN, HARDWARE_ID, KEYS, OPERATOR } from './facts.ts';
import { OLD_REQUESTS, type OldAnswer, sendOldRequest } from './old-requests.ts';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const [checkout = ''] = process.argv.slice(2);
const work = mkdtempSync(join(tmpdir(), 'berth-earlier-'));
const folders = { server: join(work, 'server'), cloud: join(work, 'cloud') };

function run(program: 'server' | 'cloud', words: readonly string[], input = ''): string {
  const main = join(checkout, 'packages', program, 'src', 'main.ts');
  const env = { ...process.env, BERTH_HARDWARE_ID: HARDWARE_ID };
  const args = [main, ...words, '--data', folders[program]];
  return execFileSync(process.execPath, args, { env, input, encoding: 'utf8' });
}

const cloud = (...words: string[]) => JSON.parse(run('cloud', [...words, '--json']));

async function serve(program: 'server' | 'cloud', args: readonly string[]) {
  const main = join(checkout, 'packages', program, 'src', 'main.ts');
  const env = { ...process.env, BERTH_HARDWARE_ID: HARDWARE_ID };
  const words = [main, 'serve', '--port', '0', '--data', folders[program], ...args];
  const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: child.stdout })) {
    const url = / listening on (\S+)$/.exec(line)?.[1];
    if (url !== undefined) return { url, child };
  }
  throw new Error(`The ${program} did not start.`);
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM');
  await once(child, 'exit');
}

/** Does not use `fetch`, because an earlier server treats it as a browser. */
async function post(url: string, path: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const outgoing = request(`${url}${path}`, { method: 'POST', headers }).end(JSON.stringify(body));
  const [incoming] = await once(outgoing, 'response');
  const text = Buffer.concat(await incoming.toArray()).toString();
  if (incoming.statusCode !== 200) throw new Error(`${path}: ${text}`);
}

function grant(): void {
  const limits = ['--slots', '5', '--borrow-hours', '87600', '--consumptions', '100000'];
  const features = ['--feature', 'export,consumptions=unlimited', '--feature', 'render,slots=2'];
  for (const [product, key] of Object.entries(KEYS)) {
    cloud('product', 'create', product);
    cloud('license', 'create', '--product', product, '--key', key, ...limits, ...features);
  }
}

/** Activates one license by file and one by codes. */
function carry(): void {
  const file = (name: string) => join(work, name);
  const request = ['--product', 'drawing', '--license-key', KEYS.drawing, '--out', file('drawing.req')];
  run('server', ['offline', 'request', ...request]);
  cloud('offline', 'activate', file('drawing.req'), '--out', file('drawing.lic'));
  run('server', ['offline', 'install', file('drawing.lic')]);
  const { initialization_code: code } = cloud('airgap', 'start', KEYS.render);
  const { activation_code } = JSON.parse(run('server', ['airgap', 'activate', KEYS.render, '--json'], code));
  const codes = ['--hardware-id', HARDWARE_ID, '--activation-code', activation_code];
  const confirmed = cloud('airgap', 'confirm', KEYS.render, ...codes, '--out', file('render.policy'));
  const { policy_id: id, confirmation_code: confirmation } = confirmed;
  const words = [
    '--license-key',
    KEYS.render,
    '--policy-id',
    String(id),
    '--confirmation-code',
    confirmation,
  ];
  run('server', ['airgap', 'install', file('render.policy'), ...words]);
}

async function use(url: string): Promise<void> {
  for (const product of ['demo', 'cad', 'drawing', 'render']) {
    await post(url, '/api/v4/register', { product, user: 'ada', os_hostname: 'ada-laptop' });
    await post(url, '/api/v4/borrow', { product, user: 'bob', user_info: 'on a journey' });
  }
  await post(url, '/api/v4/featureRegister', { product: 'cad', feature: 'render', user: 'ada' });
  for (const product of ['cad', 'drawing', 'render']) {
    await post(url, '/api/v4/add_consumption', { product, consumptions: 10 });
    await post(url, '/api/v4/add_feature_consumption', { product, feature: 'export', consumptions: 3 });
  }
}

/** Packs the database into one file, without the WAL. */
function pack(file: string, into: string): void {
  const db = new DatabaseSync(file);
  db.exec('PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
  writeFileSync(join(HERE, into), gzipSync(readFileSync(file), { level: 9 }));
}

function write(name: string, content: unknown): void {
  writeFileSync(join(HERE, name), `${JSON.stringify(content, null, 2)}\n`);
}

grant();
const keys = cloud('key', 'create');
writeFileSync(join(work, 'cloud.pem'), run('cloud', ['public-key']));
writeFileSync(join(work, 'airgap.key'), run('cloud', ['airgap-public-key']));
const vendor = await serve('cloud', []);
const server = await serve('server', [
  ...['--demo', '--cloud-url', vendor.url, '--cloud-public-key', join(work, 'cloud.pem')],
  ...['--airgap-public-key', join(work, 'airgap.key'), '--cloud-report-seconds', '86400'],
]);
await post(server.url, '/api/v4/setKeys', { apiKey: keys.api_key, sharedKey: keys.shared_key });
await post(server.url, '/api/v4/addProduct', { product: 'cad', licenseKey: KEYS.cad });
carry();
await use(server.url);
run('server', ['license', 'sync']);
// The cloud is stopped from here on: one report is in transit, and more consumption is pending.
await stop(vendor.child);
await post(server.url, '/api/v4/add_consumption', { product: 'cad', consumptions: 5 });
await post(server.url, '/api/admin/licenses/sync', {});
await post(server.url, '/api/v4/add_consumption', { product: 'cad', consumptions: 4 });
run('server', ['user', 'password', ADMIN.name], `${ADMIN.password}\n`);
run('server', ['user', 'add', OPERATOR.name, '--role', 'operator'], `${OPERATOR.password}\n`);
const { token } = JSON.parse(
  run('server', ['token', 'create', 'monitoring', '--role', 'operator', '--json']),
);
await stop(server.child);

pack(join(folders.server, 'berth.db'), 'berth.db.gz');
pack(join(folders.cloud, 'cloud.db'), 'cloud.db.gz');
const read = (folder: keyof typeof folders, name: string) =>
  readFileSync(join(folders[folder], name), 'utf8');
write('secrets.json', {
  token,
  apiKey: keys.api_key,
  sharedKey: keys.shared_key,
  masterKey: read('server', 'master.key'),
  signingKey: read('cloud', 'signing-key.pem'),
  airgapKey: read('cloud', 'airgap-key.pem'),
});
const again = await serve('cloud', []);
const answers: OldAnswer[] = [];
for (const asked of OLD_REQUESTS) {
  const cloudKeys = { apiKey: keys.api_key, sharedKey: keys.shared_key };
  const response = await sendOldRequest(again.url, cloudKeys, asked);
  const contentType = response.headers.get('content-type');
  answers.push({ name: asked.name, status: response.status, contentType, body: await response.text() });
}
write('answers.json', answers);
await stop(again.child);
rmSync(work, { recursive: true });
