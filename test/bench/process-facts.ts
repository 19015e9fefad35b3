import { readdirSync, readFileSync } from 'node:fs';

/** What the kernel knows. `null` where there is no `/proc` to ask. */
function readProc(file: string): string | null {
  try {
    return readFileSync(`/proc/${file}`, 'latin1');
  } catch {
    return null;
  }
}

export function readResidentMegabytes(pid: number | null): number | null {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readProc(`${pid}/status`) ?? '')?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) / 1024;
}

/** The kernel counts in hundredths of a second, on every Linux that Node runs on. */
const TICK_SECONDS = 0.01;

/** What the kernel says of a process behind its name, which may hold spaces. */
function readStat(pid: number | string | null): readonly string[] | null {
  const stat = readProc(`${pid}/stat`);
  return stat === null ? null : stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** Processor time that all threads of the process have used so far. */
export function readCpuSeconds(pid: number | null): number | null {
  const fields = readStat(pid);
  return fields === null ? null : (Number(fields[11]) + Number(fields[12])) * TICK_SECONDS;
}

/** The processes that this one has started and that still run. */
export function listChildren(pid: number): readonly number[] {
  if (readStat(pid) === null) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && readStat(name)?.[1] === String(pid))
    .map(Number);
}

/** The same for the process and all that it has started, those that have ended too. */
export function readFamilyCpuSeconds(pid: number): number | null {
  const fields = readStat(pid);
  const own = readCpuSeconds(pid);
  if (fields === null || own === null) return null;
  const ended = (Number(fields[13]) + Number(fields[14])) * TICK_SECONDS;
  return listChildren(pid).reduce((sum, child) => sum + (readCpuSeconds(child) ?? 0), own + ended);
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
