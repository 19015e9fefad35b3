import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What is on a disk before anything is recorded. */
export interface Image {
  readonly inode: number;
  /** `null`: it is a folder. */
  readonly bytes: Buffer | null;
  readonly children: Readonly<Record<string, Image>>;
}

export function takeImage(path: string): Image {
  const facts = statSync(path);
  const bytes = facts.isDirectory() ? null : readFileSync(path);
  const names = bytes === null ? listNames(path) : [];
  const children = Object.fromEntries(names.map((name) => [name, takeImage(join(path, name))]));
  return { inode: facts.ino, bytes, children };
}

export function writeImage({ bytes, children }: Image, path: string): void {
  if (bytes !== null) {
    writeFileSync(path, bytes, { mode: 0o600 });
    return;
  }
  mkdirSync(path, { mode: 0o700 });
  for (const [name, child] of Object.entries(children)) writeImage(child, join(path, name));
}

/** Sockets and the memory that SQLite's connections share are not on the disk. */
export function listNames(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => (entry.isFile() && !entry.name.endsWith('-shm')) || entry.isDirectory())
    .map(({ name }) => name);
}
