import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const INTERVAL_MS = 200;

/** npm, a shell, and at most one more in between. */
const GENERATIONS = 3;

/**
 * npm passes a signal to the shell that runs its scripts. The shell exits without passing it on, then npm
 * exits, and the server would be orphaned. So a server started by npm stops when npm or the shell is gone.
 */
export function followNpm() {
  const parent = process.ppid;
  const npm = findNpm(parent);
  const timer = setInterval(() => {
    if (process.ppid === parent && (npm === null || isAlive(npm))) return;
    clearInterval(timer);
    if (!process.emit('SIGTERM', 'SIGTERM')) process.exit(143);
  }, INTERVAL_MS);
  timer.unref();
}

/**
 * The process id of npm among our ancestors. If it cannot be determined, it is not watched: it may outlive
 * its parent.
 */
function findNpm(parent) {
  let pid = parent;
  for (let generation = 0; generation < GENERATIONS && pid > 1; generation++) {
    const facts = process.platform === 'linux' ? readProc(pid) : askPs(pid);
    if (facts === null) return null;
    if (/^np[mx]\b|[\\/]np[mx](-cli\.js)?\b/.test(facts.command)) return pid;
    pid = facts.parent;
  }
  return null;
}

function readProc(pid) {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
    const [, parent] = /\nPPid:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return { command, parent: Number(parent) };
  } catch {
    return null;
  }
}

function askPs(pid) {
  if (process.platform === 'win32') return null;
  const { stdout } = spawnSync('ps', ['-o', 'ppid=,command=', '-p', String(pid)], { encoding: 'utf8' });
  const [, parent, command] = /^\s*(\d+)\s+(.*)/.exec(stdout ?? '') ?? [];
  return command === undefined ? null : { command, parent: Number(parent) };
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code !== 'ESRCH';
  }
}
