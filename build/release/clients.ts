import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** Makes the package `@berth/client`, and returns the name of its file. */
export function packTypeScriptClient(root: string, folder: string): string {
  const cwd = join(root, 'packages', 'client');
  const options = { cwd, encoding: 'utf8', shell: process.platform === 'win32' } as const;
  execFileSync('npm', ['run', 'build', '--silent'], { ...options, stdio: 'pipe' });
  return execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], options).trim();
}

/** Makes the wheel and the source archive of the Python client. Returns null if there is no Python for it. */
export function packPythonClient(root: string, folder: string): { wheel: string; sdist: string } | null {
  const isFound =
    spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))']).status === 0;
  if (!isFound) return null;
  const make = (kind: string) =>
    execFileSync(
      'python3',
      ['-c', `import build_backend, sys; print(build_backend.${kind}(sys.argv[1]))`, folder],
      {
        cwd: join(root, 'clients', 'python'),
        encoding: 'utf8',
        env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
      },
    ).trim();
  return { wheel: make('build_wheel'), sdist: make('build_sdist') };
}
