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

/** Where the command is, if it is there. */
export function findCommand(command: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, command)).find(isExecutable);
}

function hasCommand(command: string): boolean {
  return findCommand(command) !== undefined;
}

/** Test files run side by side, and apt-get fails at once where another one holds its lists. */
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

/** Whether the command is there, after an attempt to install the Debian package it comes with. */
export async function ensureTool(command: string, debianPackage: string): Promise<boolean> {
  if (!hasCommand(command)) await installPackage(debianPackage);
  return hasCommand(command);
}

/** The first file which one of the patterns matches, after an attempt to install its Debian package. */
export async function ensureFile(patterns: string[], debianPackage: string): Promise<string | undefined> {
  const [found] = globSync(patterns);
  if (found !== undefined) return found;
  await installPackage(debianPackage);
  return globSync(patterns)[0];
}
