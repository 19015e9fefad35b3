import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { readArchived } from '../../bin/origin.ts';

/** The version that the chart is checked against, here and in tests. */
export const KUBERNETES = '1.31.0';

/** Unpacks an archive as a user would, starts it, registers, stops it, and returns what was done. */
export function tryArchive(archive: string, stem: string, expected: string): Promise<string> {
  return withUnpacked(archive, async (folder) => {
    const program = join(folder, stem, 'berth');
    const version = execFileSync(program, ['--version'], { encoding: 'utf8' }).trim();
    if (version !== expected) throw new Error(`It says that it is "${version}", not "${expected}".`);
    await serveOnce(program, join(folder, 'data'));
    return 'run: started, lent a slot, stopped';
  });
}

export function tryTypeScriptClient(archive: string): Promise<string> {
  return withUnpacked(archive, async (folder) => {
    const { acquire } = await import(pathToFileURL(join(folder, 'package', 'dist', 'main.js')).href);
    if (typeof acquire !== 'function') throw new Error('The package has no "acquire".');
    return 'imported';
  });
}

export function trySource(archive: string, stem: string, expected: string): Promise<string> {
  return withUnpacked(archive, async (folder) => {
    const commit = readArchived(join(folder, stem))?.commit;
    if (!commit?.startsWith(expected)) throw new Error(`It says that it is of ${commit}, not ${expected}.`);
    return 'unpacked: knows its commit';
  });
}

/** Python imports from a wheel without unpacking it. */
export function tryPythonClient(wheel: string): string {
  execFileSync('python3', ['-c', 'import berth_client; berth_client.acquire'], {
    env: { ...process.env, PYTHONPATH: wheel },
  });
  return 'imported';
}

/** Returns what was checked; null if the tool is not installed here. */
export function tryTool(tool: string, args: readonly string[], input = ''): string | null {
  const { error, status, stdout, stderr } = spawnSync(tool, args, { input, encoding: 'utf8' });
  if (error !== undefined) return null;
  if (status !== 0) throw new Error(`${tool} found faults:\n${stdout}${stderr}`);
  return `accepted by ${[tool, ...args.filter((word) => /^[a-z]+$/.test(word))].join(' ')}`;
}

/** Checks the chart, and what helm makes of it. */
export function tryChart(chart: string): string | null {
  const linted = tryTool('helm', ['lint', '--strict', chart]);
  if (linted === null) return null;
  const template = ['template', 'one', chart, '--kube-version', KUBERNETES];
  const made = execFileSync('helm', template, { encoding: 'utf8' });
  const known = tryTool('kubeconform', ['-strict', '-kubernetes-version', KUBERNETES], made);
  return [linted, known].filter(Boolean).join(', ');
}

async function withUnpacked(archive: string, work: (folder: string) => Promise<string>): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-release-'));
  try {
    execFileSync('tar', ['-xzf', archive], { cwd: folder });
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function serveOnce(program: string, data: string): Promise<void> {
  const args = ['serve', '--demo', '--port', '0', '--data', data];
  const server = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  const exited = once(server, 'exit');
  try {
    const line = once(createInterface({ input: server.stdout }), 'line');
    const [first] = await Promise.race([line, exited.then(() => [''])]);
    const url = String(first).replace('berth listening on ', '');
    const body = JSON.stringify({ product: 'demo', user: 'release' });
    const answer = await fetch(`${url}/api/v4/register`, { method: 'POST', body });
    if (answer.status !== 200) throw new Error(`It answered a register with ${answer.status}.`);
  } finally {
    server.kill('SIGTERM');
  }
  const [code] = await exited;
  if (code !== 0) throw new Error(`It ended with ${code}.`);
}
