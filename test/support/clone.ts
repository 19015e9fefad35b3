import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from './server-process.ts';

export const PROJECT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

interface TestLife {
  after(work: () => void): void;
}

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface Clone {
  readonly folder: string;
  /** Changes the pinned Node of the clone to another version. */
  pinNode(version: string): void;
}

/** A separate clone with the code of the project, installed by default. */
export function makeClone(t: TestLife, name: string, { isInstalled = true } = {}): Clone {
  const folder = join(realpathSync(temporaryFolder(t, { hasPrograms: true })), name);
  mkdirSync(folder);
  for (const one of ['berth', 'bin', 'package.json']) {
    cpSync(join(PROJECT, one), join(folder, one), { recursive: true });
  }
  // From an unpacked archive, the copy would have its commit.
  rmSync(join(folder, 'bin', 'commit.txt'));
  symlinkSync(join(PROJECT, 'packages'), join(folder, 'packages'));
  if (isInstalled) symlinkSync(join(PROJECT, 'node_modules'), join(folder, 'node_modules'));
  return {
    folder,
    pinNode(version) {
      const file = join(folder, 'package.json');
      const manifest = JSON.parse(readFileSync(file, 'utf8'));
      for (const one of Object.keys(manifest.optionalDependencies)) {
        manifest.optionalDependencies[one] = version;
      }
      writeFileSync(file, JSON.stringify(manifest));
    },
  };
}

/** A user's environment, without the variables of `npm test`. */
export function plainEnv(env: Readonly<Record<string, string>> = {}): Record<string, string> {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(?:npm_|INIT_CWD$|BERTH_|NODE_TEST)/.test(name),
  );
  return { ...(Object.fromEntries(own) as Record<string, string>), ...env };
}

export function run(
  file: string,
  args: readonly string[],
  { cwd, env = plainEnv() }: { cwd: string; env?: Record<string, string> },
): Promise<Ran> {
  return new Promise((resolve) => {
    const child = execFile(file, args, { cwd, env, timeout: 60_000 }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
    child.stdin?.end();
  });
}
