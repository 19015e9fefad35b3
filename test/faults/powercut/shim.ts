import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SOURCE = fileURLToPath(new URL('./shim.c', import.meta.url));
/** Not in memory, where files are often not executable. */
const BUILT = fileURLToPath(new URL('../../../node_modules/.cache/berth-powercut', import.meta.url));

/** The compiled shim, named after its source: it is compiled once. */
function compileShim(): string {
  const hash = createHash('sha256').update(readFileSync(SOURCE)).digest('hex').slice(0, 16);
  const file = join(BUILT, `shim-${hash}.so`);
  if (existsSync(file)) return file;
  mkdirSync(BUILT, { recursive: true });
  const draft = `${file}.${process.pid}`;
  execFileSync('cc', ['-O2', '-shared', '-fPIC', '-o', draft, SOURCE, '-ldl', '-lpthread']);
  renameSync(draft, file);
  return file;
}

interface Recording {
  /** What happens below it is recorded. */
  readonly root: string;
  readonly log: string;
  /** Which syncs fail, by their number from 1. */
  readonly failing?: readonly number[];
}

/** The environment of a process that is to be recorded. */
export function recordedEnvironment({ root, log, failing = [] }: Recording): Record<string, string> {
  return {
    LD_PRELOAD: compileShim(),
    BERTH_CUT_ROOT: root,
    BERTH_CUT_LOG: log,
    BERTH_CUT_FAIL: `,${failing.join(',')},`,
    // Writes that the kernel takes from a ring pass the C library by.
    UV_USE_IO_URING: '0',
  };
}
