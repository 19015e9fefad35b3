import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { namePackage } from './locked-package.ts';

/** The texts that must accompany an executable: the license of each package in it, of Node and of Berth. */
export function collectLicenses(root: string, packages: readonly string[]): string {
  const modules = join(root, 'node_modules');
  const [node] = globSync('node-*/bin/node*', { cwd: modules });
  if (node === undefined) throw new Error('The pinned Node is not installed. Run "npm ci" first.');
  const parts = packages.map((folder) => [namePackage(folder), readLicense(join(root, folder))]);
  const own = ['berth', readLicense(root)];
  const runtime = ['Node.js', readLicense(join(modules, node.split(/[\\/]/)[0] as string))];
  return [own, runtime, ...parts]
    .map(([name, text]) => `${name}\n\n${text}\n`)
    .join(`\n${'-'.repeat(80)}\n\n`);
}

function readLicense(folder: string): string {
  const [file] = globSync('{LICENSE,LICENCE,license}*', { cwd: folder });
  if (file !== undefined) return readFileSync(join(folder, file), 'utf8').trim();
  const { license, author, homepage } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  if (license === undefined) throw new Error(`${folder} names no license.`);
  return `License: ${license}. Author: ${author?.name ?? author ?? homepage}`;
}
