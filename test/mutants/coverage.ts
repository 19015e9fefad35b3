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

export function isCovered(coverage: Coverage, file: string, offset: number): boolean {
  return (coverage[file] ?? []).some((ranges) => countAt(ranges, offset) > 0);
}

function countAt(ranges: readonly Range[], offset: number): number {
  let innermost: Range | undefined;
  for (const range of ranges) {
    if (offset < range.startOffset || offset >= range.endOffset) continue;
    if (innermost === undefined || sizeOf(range) <= sizeOf(innermost)) innermost = range;
  }
  return innermost?.count ?? 0;
}

function sizeOf({ startOffset, endOffset }: Range): number {
  return endOffset - startOffset;
}
