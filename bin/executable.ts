import { basename, dirname } from 'node:path';
import { isatty } from 'node:tty';

/** How Berth was started. */
export interface Launch {
  /** The command as the user typed it, such as `./berth`. */
  readonly program: string;
  /** The folder in which the data folders and `berth.yaml` are by default. */
  readonly home: string;
}

/** Where the data of an executable is that was installed for the whole system. */
const SYSTEM_HOME = '/var/lib/berth';

/**
 * The executable keeps its data next to itself, so that it finds it from any folder. In a folder such as
 * `/usr/local/bin` that would be wrong.
 */
export function launchExecutable(): Launch {
  outliveTerminal();
  const folder = dirname(process.execPath);
  const isWindows = process.platform === 'win32';
  return {
    program: quote(process.argv0, isWindows),
    home: basename(folder) === 'bin' && !isWindows ? SYSTEM_HOME : folder,
  };
}

/** Node stops ignoring SIGHUP when it starts, so under nohup the end of the terminal would stop the server. */
function outliveTerminal(): void {
  if (![0, 1, 2].some((stream) => isatty(stream))) process.on('SIGHUP', () => {});
}

function quote(word: string, isWindows: boolean): string {
  if (isWindows) return word.includes(' ') ? `"${word}"` : word;
  return /^[\w/.@%+=:,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
