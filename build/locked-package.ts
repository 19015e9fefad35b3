import { readFileSync } from 'node:fs';

interface LockedPackage {
  readonly version: string;
  readonly integrity: string;
  readonly license?: string;
}

/** What `package-lock.json` says about the package in a folder: others may have other versions of it. */
export function getLocked(folder: string): LockedPackage {
  const text = readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8');
  const { packages } = JSON.parse(text) as { packages: Readonly<Record<string, LockedPackage>> };
  const found = packages[folder];
  if (found === undefined) throw new Error(`package-lock.json does not name ${folder}.`);
  return found;
}

/** The folders of the packages of these files, such as `packages/server/node_modules/nodemailer`. */
export function listPackages(files: readonly string[]): readonly string[] {
  const folders = files.map((path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0]);
  return [...new Set(folders.filter((folder) => folder !== undefined))].sort();
}

/** The name of the package in a folder. */
export function namePackage(folder: string): string {
  return folder.replace(/^.*node_modules\//, '');
}
