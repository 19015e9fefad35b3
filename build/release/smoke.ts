import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** Unpacks an archive as a user would, starts what is in it, registers, stops it, and returns what was done. */
export async function tryArchive(archive: string, stem: string, expected: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-release-'));
  try {
    execFileSync('tar', ['-xzf', archive], { cwd: folder });
    const program = join(folder, stem, 'berth');
    const version = execFileSync(program, ['--version'], { encoding: 'utf8' }).trim();
    if (version !== expected) throw new Error(`It says that it is "${version}", not "${expected}".`);
    await serveOnce(program, join(folder, 'data'));
    return 'run here: started, lent a slot, stopped';
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
