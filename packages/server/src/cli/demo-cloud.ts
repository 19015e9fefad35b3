import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Config } from '../config.ts';
import { SECOND_MS } from '../core/nouns/instant.ts';
import type { AdminAnswer, AdminClient } from './admin-client.ts';
import { InputError } from './read-secrets.ts';

/** A licensing cloud that runs beside the server, with a license to try. */
export interface DemoCloud {
  /** The server's settings with the URL and public key of this cloud. */
  readonly config: Config;
  /** Gives the server the keys, and adds the license. */
  introduce(client: AdminClient): Promise<void>;
  stop(): Promise<void>;
}

/** What the cloud reports when it is ready. It uses a pipe, so that the keys are stored nowhere. */
interface Introduction {
  readonly url: string;
  readonly public_key: string;
  readonly api_key: string;
  readonly shared_key: string;
  readonly product: string;
  readonly license_key: string;
}

/** A cloud that stops gives its requests ten seconds, and then closes its store. */
const STOP_LIMIT_MS = 15 * SECOND_MS;

/** Starts the cloud as a child process, which ends when this process ends for any reason. */
export async function startDemoCloud(config: Config, self: readonly string[]): Promise<DemoCloud> {
  const data = join(config.data, 'demo-cloud');
  const marker = join(data, 'introduced');
  const { level, format } = config.log;
  const flags = ['--port', '0', '--data', data, '--log-level', level, '--log-format', format];
  const [node = '', ...own] = self;
  const child = spawn(node, [...own, 'cloud', 'demo', ...flags], { stdio: ['pipe', 'pipe', 'inherit'] });
  const said = await readIntroduction(child);
  const { url, public_key: key } = said;
  const source = { kind: 'flag', place: '--demo-cloud' } as const;
  const sources = new Map([...config.sources, ['cloud.url', source], ['cloud.publicKey', source]]);
  return {
    config: { ...config, cloud: { ...config.cloud, url, publicKey: [key] }, sources },
    async introduce(client) {
      if (!existsSync(marker)) await refuseOtherKeys(client);
      await introduce(client, said);
      writeFileSync(marker, '');
    },
    stop: () => stopChild(child),
  };
}

/** The end of its input tells the child to stop. It is killed if it does not; its store survives that. */
export async function stopChild(child: ChildProcess, limitMs = STOP_LIMIT_MS): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  const limit = setTimeout(() => child.kill('SIGKILL'), limitMs);
  child.stdin?.end();
  await exited;
  clearTimeout(limit);
}

async function readIntroduction(child: ChildProcess): Promise<Introduction> {
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const first = await Promise.race([once(lines, 'line'), once(child, 'exit').then(() => null)]);
  if (first === null) throw new InputError('The demo cloud did not start. See its output above.');
  return JSON.parse(first[0] as string) as Introduction;
}

/** Keys cannot be read back, so a demo must not overwrite those of a real cloud. */
async function refuseOtherKeys(client: AdminClient): Promise<void> {
  const { ok, body } = await client.get('/api/admin/keys');
  if (!ok || Object.values(body.cloud_keys).every((fingerprint) => fingerprint === null)) return;
  throw new InputError(
    'This data folder has the keys of another cloud, which the demo would replace. ' +
      'Choose another folder with --data.',
  );
}

async function introduce(client: AdminClient, said: Introduction): Promise<void> {
  const { api_key, shared_key, product, license_key } = said;
  requireOk(await client.post('/api/v4/setKeys', { api_key, shared_key }));
  requireOk(await client.post('/api/v4/addProduct', { product, license_key }));
}

function requireOk({ ok, body }: AdminAnswer<object>): void {
  if (!ok) throw new InputError(body.message);
}
