import { execFileSync } from 'node:child_process';
import { isContainer, readText } from '@berth/shell/files/file-sharing';

/**
 * Identifies this machine over restarts, upgrades and new addresses; `null` if there is no such id. A
 * container has none: it is created anew from its image, so only its data identifies a server there.
 */
export function readMachineId(env: Readonly<Record<string, string | undefined>>): string | null {
  if (isContainer(env)) return null;
  switch (process.platform) {
    case 'linux':
      return readFirstLine('/etc/machine-id') ?? readFirstLine('/var/lib/dbus/machine-id');
    case 'darwin':
      return findIn(['ioreg', '-rd1', '-c', 'IOPlatformExpertDevice'], /"IOPlatformUUID" = "([^"]+)"/);
    case 'win32':
      return findIn(
        ['reg', 'query', 'HKLM\\SOFTWARE\\Microsoft\\Cryptography', '/v', 'MachineGuid'],
        /MachineGuid\s+REG_SZ\s+(\S+)/,
      );
    default:
      return null;
  }
}

function readFirstLine(file: string): string | null {
  const line = readText(file)?.split('\n')[0]?.trim() ?? '';
  // While a system is being installed, the file may hold this word.
  return line === '' || line === 'uninitialized' ? null : line;
}

function findIn([command = '', ...args]: readonly string[], pattern: RegExp): string | null {
  try {
    const output = execFileSync(command, args, { encoding: 'utf8', timeout: 5000, stdio: 'pipe' });
    return pattern.exec(output)?.[1] ?? null;
  } catch {
    return null;
  }
}
