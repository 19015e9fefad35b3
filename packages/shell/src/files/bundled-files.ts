/** The files that a bundle carries, by their path below `packages/`. The sources find them on the disk. */
declare const BUNDLED_FILES: Readonly<Record<string, string>>;

/** Returns the text of a file of the program; undefined if it runs from its sources. */
export function findBundledFile(path: string): string | undefined {
  return typeof BUNDLED_FILES === 'undefined' ? undefined : BUNDLED_FILES[path];
}
