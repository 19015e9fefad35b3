import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import process from 'node:process';
import { promisify } from 'node:util';

const run = promisify(execFile);
const LONGEST_MS = 5000;

const LINUX_FILES = ['/etc/machine-id', '/var/lib/dbus/machine-id'];
const REGISTRY_KEY = 'HKLM\\SOFTWARE\\Microsoft\\Cryptography';

/** What identifies this computer to its operating system; `null` if nothing does, as in many containers. */
export async function findDevice(): Promise<string | null> {
  const found = await read().catch(() => null);
  return found === null || found.trim() === '' ? null : found.trim();
}

async function read(): Promise<string | null> {
  if (process.platform === 'linux') return readFirst(LINUX_FILES);
  if (process.platform === 'win32') {
    const words = ['query', REGISTRY_KEY, '/v', 'MachineGuid', '/reg:64'];
    return match(await ask('reg', words), /MachineGuid\s+REG_SZ\s+(\S+)/);
  }
  if (process.platform !== 'darwin') return null;
  const devices = await ask('/usr/sbin/ioreg', ['-rd1', '-c', 'IOPlatformExpertDevice']);
  return match(devices, /"IOPlatformUUID" = "([^"]+)"/);
}

async function readFirst(files: readonly string[]): Promise<string | null> {
  for (const file of files) {
    const text = (await readFile(file, 'utf8').catch(() => '')).trim();
    // So it is in an image whose first start is still to come.
    if (text !== '' && text !== 'uninitialized') return text;
  }
  return null;
}

async function ask(program: string, words: readonly string[]): Promise<string> {
  return (await run(program, words, { timeout: LONGEST_MS, windowsHide: true })).stdout;
}

function match(text: string, pattern: RegExp): string | null {
  return pattern.exec(text)?.[1] ?? null;
}
