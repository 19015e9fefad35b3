import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import manifest from '../package.json' with { type: 'json' };
import { getLocked } from './locked-package.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Where everything that is built passes through. */
export const CACHE = join(ROOT, 'node_modules', '.cache', 'berth-build');

export const OWN_PLATFORM = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;

/** The packages with the pinned Node by platform, such as `linux-x64`. */
export const NODES = new Map(
  Object.entries(manifest.optionalDependencies).map(([name, version]) => [
    name.replace(/^node-(bin-)?/, ''),
    { name, version },
  ]),
);

/** The installed Node; that of another platform comes from the registry. */
export function findNode(platform: string): string {
  const found = NODES.get(platform);
  if (found === undefined) {
    throw new Error(`There is no Node for "${platform}". Choose among: ${[...NODES.keys()].join(', ')}.`);
  }
  const { name, version } = found;
  const file = platform.startsWith('win-') ? 'node.exe' : 'node';
  const installed = join(ROOT, 'node_modules', name, 'bin', file);
  if (existsSync(installed)) return installed;
  const folder = join(CACHE, `${name}-${version}`);
  const downloaded = join(folder, 'package', 'bin', file);
  if (existsSync(downloaded)) return downloaded;
  // Only what was unpacked to the end gets the name under which it is looked for.
  const unfinished = `${folder}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true });
  // The settings of npm say which registry, also here.
  const npm = ['pack', `${name}@${version}`, '--silent'];
  const options = { cwd: unfinished, encoding: 'utf8', shell: process.platform === 'win32' } as const;
  const archive = join(unfinished, execFileSync('npm', npm, options).trim());
  requireLocked(name, readFileSync(archive));
  execFileSync('tar', ['-xzf', archive], { cwd: unfinished });
  rmSync(archive);
  rmSync(folder, { recursive: true, force: true });
  renameSync(unfinished, folder);
  return downloaded;
}

/** Throws unless `package-lock.json` names this archive of a package. */
export function requireLocked(name: string, archive: Uint8Array): void {
  const digest = `sha512-${createHash('sha512').update(archive).digest('base64')}`;
  if (getLocked(`node_modules/${name}`).integrity === digest) return;
  throw new Error(`The archive of ${name} from the registry is not the one that package-lock.json names.`);
}
