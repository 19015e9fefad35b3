import { readFileSync } from 'node:fs';

/** What the kernel knows. `null` where there is no `/proc` to ask. */
function readProc(file: string): string | null {
  try {
    return readFileSync(`/proc/${file}`, 'latin1');
  } catch {
    return null;
  }
}

export function readResidentMegabytes(pid: number): number | null {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readProc(`${pid}/status`) ?? '')?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) / 1024;
}

/** The kernel counts in hundredths of a second, on every Linux that Node runs on. */
const TICK_SECONDS = 0.01;

/** Processor time that all threads of the process have used so far. */
export function readCpuSeconds(pid: number): number | null {
  const stat = readProc(`${pid}/stat`);
  if (stat === null) return null;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_SECONDS;
}

/** Processor time that all programs together have used so far, on all cores. */
export function readMachineCpuSeconds(): number | null {
  const fields = /^cpu +(.+)$/m
    .exec(readProc('stat') ?? '')?.[1]
    ?.split(' ')
    .map(Number);
  if (fields === undefined) return null;
  const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0, steal = 0] = fields;
  return (user + nice + system + irq + softIrq + steal) * TICK_SECONDS;
}
