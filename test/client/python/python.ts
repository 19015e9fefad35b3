import { execFile, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const PACKAGE = fileURLToPath(new URL('../../../clients/python', import.meta.url));

const FIND = 'import sys; print(sys.executable); sys.exit(0 if sys.version_info >= (3, 9) else 1)';

/**
 * The Python of this machine; `null` if there is none that the package supports. Not the script that some
 * machines have in its place, which looks for it every time.
 */
export const PYTHON =
  ['python3', 'python']
    .map((name) => spawnSync(name, ['-c', FIND], { encoding: 'utf8' }))
    .find(({ status }) => status === 0)
    ?.stdout.trim() ?? null;

export const skip = PYTHON === null ? 'optional: needs Python 3.9 or newer' : false;

/** Python writes nothing into the project, and finds the package in its sources. */
export const PYTHON_ENV = { ...process.env, PYTHONDONTWRITEBYTECODE: '1', PYTHONPATH: `${PACKAGE}/src` };

/** Runs a program to its end. Throws with its output if it fails. */
export function runPython(
  args: readonly string[],
  options: { env?: NodeJS.ProcessEnv; program?: string } = {},
) {
  const { env = PYTHON_ENV, program = PYTHON ?? '' } = options;
  return promisify(execFile)(program, ['-W', 'error', ...args], { cwd: PACKAGE, env });
}
