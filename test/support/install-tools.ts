import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, globSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The path of the command; `undefined` if it is not installed. */
export function findCommand(command: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, command)).find(isExecutable);
}

function hasCommand(command: string): boolean {
  return findCommand(command) !== undefined;
}

/** Test files run in parallel, and apt-get fails immediately while another process holds its lock. */
async function runAptGet(...args: string[]): Promise<boolean> {
  const lock = join(tmpdir(), 'berth-apt-get.lock');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const apt = spawn('flock', [lock, 'apt-get', ...args], { env, stdio: 'ignore' });
  try {
    const [code] = await once(apt, 'close');
    return code === 0;
  } catch {
    return false;
  }
}

async function installPackage(debianPackage: string): Promise<void> {
  if (process.getuid?.() !== 0 || !hasCommand('apt-get')) return;
  const install = ['install', '-y', '--no-install-recommends', debianPackage];
  if (await runAptGet(...install)) return;
  if (await runAptGet('update')) await runAptGet(...install);
}

/** Returns whether the command is installed. Tries to install its Debian package first. */
export async function ensureTool(command: string, debianPackage: string): Promise<boolean> {
  if (!hasCommand(command)) await installPackage(debianPackage);
  return hasCommand(command);
}

/** Returns the first file that matches a pattern. Tries to install its Debian package if there is none. */
export async function ensureFile(patterns: string[], debianPackage: string): Promise<string | undefined> {
  const [found] = globSync(patterns);
  if (found !== undefined) return found;
  await installPackage(debianPackage);
  return globSync(patterns)[0];
}
