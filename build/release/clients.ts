import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** Makes the package `@berth/client`, and returns the name of its file. */
export function packTypeScriptClient(root: string, folder: string): string {
  const cwd = join(root, 'packages', 'client');
  const options = { cwd, encoding: 'utf8', shell: process.platform === 'win32' } as const;
  execFileSync('npm', ['run', 'build', '--silent'], options);
  return execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], options).trim();
}

/** Makes the wheel and the source archive of the Python client, and returns the names of their files. */
export function packPythonClient(root: string, folder: string, epoch: number): readonly string[] {
  const code = `import build_backend as b; print(b.build_wheel(r'''${folder}''')); print(b.build_sdist(r'''${folder}'''))`;
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1', SOURCE_DATE_EPOCH: String(epoch) };
  const options = { cwd: join(root, 'clients', 'python'), encoding: 'utf8', env } as const;
  return execFileSync('python3', ['-c', code], options).trim().split('\n');
}
