import { readFileSync } from 'node:fs';

interface LockedPackage {
  readonly version: string;
  readonly integrity: string;
  readonly license?: string;
}

/** What `package-lock.json` says about a package. */
export function getLocked(name: string): LockedPackage {
  const text = readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8');
  const { packages } = JSON.parse(text) as { packages: Readonly<Record<string, LockedPackage>> };
  const found = packages[`node_modules/${name}`];
  if (found === undefined) throw new Error(`package-lock.json does not name ${name}.`);
  return found;
}
