import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startCloudProcess } from '../../support/cloud/cloud-process.ts';
import { startServerHere } from '../../support/server-here.ts';
import { temporaryFolder } from '../../support/server-process.ts';
import type { Site } from './site-facts.ts';

type Facts = Readonly<Record<string, string>>;

interface TestContext {
  after(work: () => unknown): void;
}

/** A licensing cloud, and a server with the demo license for which the cloud has more. */
export async function openSite(t: TestContext): Promise<Site> {
  const cloud = await startCloudProcess(t);
  const airgapKeyFile = join(cloud.data, 'airgap.pem');
  writeFileSync(airgapKeyFile, await cloud.runText('airgap-public-key'));
  const keys = ['--cloud-public-key', cloud.publicKeyFile, '--airgap-public-key', airgapKeyFile];
  const args = ['--demo', '--cloud-url', cloud.url, ...keys];
  const server = await startServerHere({ data: temporaryFolder(t), args });
  t.after(() => server.stop());
  const post = async (operation: string, body: object): Promise<Facts> => {
    const answer = await fetch(`${server.url}/api/v4/${operation}`, {
      method: 'POST',
      body: JSON.stringify(body),
    });
    return (await answer.json()) as Facts;
  };
  return {
    url: server.url,
    password: /one-time password {2}(\S+)/.exec(server.announced)?.[1] ?? '',
    ...cloud.keys,
    licenseKey: await cloud.grant('cad', '--slots', '2'),
    licenseFile: await answerRequest(cloud, post),
    airgap: await exchangeCodes(cloud, post),
  };
}

type Cloud = Awaited<ReturnType<typeof startCloudProcess>>;
type Post = (operation: string, body: object) => Promise<Facts>;

async function answerRequest(cloud: Cloud, post: Post): Promise<string> {
  const license_key = await cloud.grant('cam', '--slots', '2');
  const { request_data = '' } = await post('license/generate', { product: 'cam', license_key });
  const file = join(cloud.data, 'server.req');
  writeFileSync(file, request_data);
  return (await cloud.runText('offline', 'activate', file)).trim();
}

async function exchangeCodes(cloud: Cloud, post: Post): Promise<Site['airgap']> {
  const licenseKey = await cloud.grant('cae', '--slots', '2');
  const started = (await cloud.run('airgap', 'start', licenseKey)) as Facts;
  const initializationCode = started.initialization_code ?? '';
  const wish = { license_key: licenseKey, signing_key: initializationCode };
  const { hardware_id = '', activation_code = '' } = await post('airgap/generate', wish);
  const codes = ['--hardware-id', hardware_id, `--activation-code=${activation_code}`];
  const confirmed = (await cloud.run('airgap', 'confirm', licenseKey, ...codes)) as Facts;
  return {
    licenseKey,
    initializationCode,
    policyFile: confirmed.policy_file ?? '',
    policyId: confirmed.policy_id ?? '',
    confirmationCode: confirmed.confirmation_code ?? '',
  };
}

interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
}

export async function readDocument(url: string): Promise<ApiDocument> {
  return (await (await fetch(`${url}/api/v4/openapi.json`)).json()) as ApiDocument;
}

/**
 * Runs a program that reads the site and prints the id of each operation that it called, or its method and
 * path, on a line of its own. Returns the operations of the v4 API that it did not call.
 */
export async function findUncalled(
  [program = '', ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  site: Site,
): Promise<readonly string[]> {
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify(site));
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`The generated client failed after these calls:\n${printed}`);
  const called = new Set(printed.split('\n'));
  const { paths } = await readDocument(site.url);
  return Object.entries(paths)
    .filter(([path]) => path.startsWith('/api/v4/'))
    .flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(([method, { operationId }]) => !called.has(operationId) && !called.has(`${method} ${path}`))
        .map(([, { operationId }]) => operationId),
    );
}
