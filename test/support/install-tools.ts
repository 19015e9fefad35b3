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

/** What tests run, and the Debian packages that have it. */
const PACKAGES = {
  cc: 'gcc',
  chromium: 'chromium',
  'chromium-headless-shell': 'chromium-headless-shell',
  curl: 'curl',
  ip: 'iproute2',
  nginx: 'nginx-light',
  openssl: 'openssl',
  pgbouncer: 'pgbouncer',
  rsyslogd: 'rsyslog',
  slapd: 'slapd',
  strace: 'strace',
  zbarimg: 'zbar-tools',
} as const;

type Tool = keyof typeof PACKAGES;

/** What tests load, and the Debian packages that have it. */
const FILES = {
  libfaketime: ['/usr/lib/*/faketime/libfaketimeMT.so.1', '/usr/lib/faketime/libfaketimeMT.so.1'],
  'libc6-dev': ['/usr/include/stdio.h'],
} as const;

type FilePackage = keyof typeof FILES;

function findFile(debianPackage: FilePackage): string | undefined {
  return globSync(FILES[debianPackage])[0];
}

const APT_GET = {
  update: 'apt-get update',
  /** Another process may have installed it in the meantime. */
  install: 'dpkg -s "$@" || apt-get install -y --no-install-recommends "$@"',
};

/** Test files run in parallel, and apt-get fails immediately while another process holds its lock. */
async function runAptGet(script: string, debianPackages: readonly string[]): Promise<boolean> {
  const lock = join(tmpdir(), 'berth-apt-get.lock');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const words = [lock, 'sh', '-c', script, 'sh', ...debianPackages];
  const apt = spawn('flock', words, { env, stdio: 'ignore' });
  try {
    const [code] = await once(apt, 'close');
    return code === 0;
  } catch {
    return false;
  }
}

async function installPackages(...debianPackages: readonly string[]): Promise<void> {
  if (process.getuid?.() !== 0 || !hasCommand('apt-get')) return;
  if (await runAptGet(APT_GET.install, debianPackages)) return;
  if (await runAptGet(APT_GET.update, [])) await runAptGet(APT_GET.install, debianPackages);
}

/** Returns whether the command is installed. Tries to install its Debian package first. */
export async function ensureTool(command: Tool): Promise<boolean> {
  if (!hasCommand(command)) await installPackages(PACKAGES[command]);
  return hasCommand(command);
}

/** Returns the file that tests load from a Debian package. Tries to install it first. */
export async function ensureFile(debianPackage: FilePackage): Promise<string | undefined> {
  if (findFile(debianPackage) === undefined) await installPackages(debianPackage);
  return findFile(debianPackage);
}

/**
 * Installs what the tests need at once, because every installation takes seconds besides its package. If that
 * fails, each test tries to install its own. They need only one of the browsers.
 */
export async function installTools(): Promise<void> {
  const { chromium: _, ...packages } = PACKAGES;
  const missing = Object.entries(packages).filter(([command]) => !hasCommand(command));
  const withoutFile = (Object.keys(FILES) as FilePackage[]).filter((name) => findFile(name) === undefined);
  const names = [...missing.map(([, name]) => name), ...withoutFile];
  if (names.length > 0) await installPackages(...names);
}
