import { readFileSync } from 'node:fs';

/** What the kernel knows about a process. `null` where there is no `/proc` to ask. */
function readProc(pid: number, file: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return null;
  }
}

export function readResidentMegabytes(pid: number): number | null {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readProc(pid, 'status') ?? '')?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) / 1024;
}

/** The kernel counts in hundredths of a second, on every Linux that Node runs on. */
const TICK_SECONDS = 0.01;

/** Processor time that all threads of the process have used so far. */
export function readCpuSeconds(pid: number): number | null {
  const stat = readProc(pid, 'stat');
  if (stat === null) return null;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_SECONDS;
}
