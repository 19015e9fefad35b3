import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

interface Script {
  readonly url: string;
  readonly functions: readonly { readonly ranges: readonly Range[] }[];
}

/** By source: the nested ranges of each process and thread that ran it. The innermost counts. */
export type Coverage = Readonly<Record<string, readonly (readonly Range[])[]>>;

/** Reads what `NODE_V8_COVERAGE` left in a folder about the sources in another one. */
export function readCoverage(folder: string, root: string, isWanted: (file: string) => boolean): Coverage {
  const start = `${pathToFileURL(root).href}/`;
  const coverage: Record<string, (readonly Range[])[]> = {};
  for (const name of readdirSync(folder)) {
    const { result } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as { result: Script[] };
    for (const { url, functions } of result) {
      const file = url.slice(start.length);
      if (!url.startsWith(start) || !isWanted(file)) continue;
      coverage[file] ??= [];
      coverage[file].push(functions.flatMap(({ ranges }) => ranges));
    }
  }
  return coverage;
}

/**
 * Every test that imports a file runs its constants. They matter to those that run one of its functions, or
 * to all of them if it has none.
 */
export function isCovered(coverage: Coverage, file: string, offset: number): boolean {
  return (coverage[file] ?? []).some((ranges) => {
    const range = findInnermost(ranges, offset);
    if (range === undefined || range.count === 0) return false;
    const functions = ranges.filter(({ startOffset }) => startOffset > 0);
    return range.startOffset > 0 || functions.length === 0 || functions.some(({ count }) => count > 0);
  });
}

function findInnermost(ranges: readonly Range[], offset: number): Range | undefined {
  let innermost: Range | undefined;
  for (const range of ranges) {
    if (offset < range.startOffset || offset >= range.endOffset) continue;
    if (innermost === undefined || sizeOf(range) <= sizeOf(innermost)) innermost = range;
  }
  return innermost;
}

function sizeOf({ startOffset, endOffset }: Range): number {
  return endOffset - startOffset;
}
