import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** The state of a socket that listens, as the kernel writes it. */
const LISTENS = '0A';

/** The kernel's numbers of the sockets that listen on this port, on any address of this machine. */
function listSockets(port: number): readonly string[] {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const rows = ['tcp', 'tcp6'].flatMap((table) => readFileSync(`/proc/net/${table}`, 'latin1').split('\n'));
  return rows
    .map((row) => row.trim().split(/ +/))
    .filter((cells) => cells[1]?.endsWith(wanted) && cells[3] === LISTENS)
    .map((cells) => `socket:[${cells[9]}]`);
}

function hasOpen(pid: string, sockets: readonly string[]): boolean {
  try {
    const folder = `/proc/${pid}/fd`;
    return readdirSync(folder).some((fd) => sockets.includes(readlinkSync(`${folder}/${fd}`)));
  } catch {
    // It has ended meanwhile, or belongs to somebody else.
    return false;
  }
}

/** The process that listens on a port of this machine; `null` where that cannot be seen. */
export function findListener(port: number): number | null {
  try {
    const sockets = listSockets(port);
    const pid = readdirSync('/proc').find((name) => /^\d+$/.test(name) && hasOpen(name, sockets));
    return pid === undefined ? null : Number(pid);
  } catch {
    return null;
  }
}
