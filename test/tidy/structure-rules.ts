import { posix } from 'node:path';
import { listImports, resolveImport } from './imports.ts';
import { type Finding, productFiles, type SourceFile } from './source.ts';

const MAX_FILES_IN_FOLDER = 25;

export function findCrowdedFolders(files: SourceFile[]): Finding[] {
  const product = productFiles(files, 'packages/');
  return [...Map.groupBy(product, ({ path }) => posix.dirname(path))].flatMap(([folder, inside]) => {
    const [first] = inside;
    if (first === undefined || inside.length <= MAX_FILES_IN_FOLDER) return [];
    const message =
      `'${folder}' has ${inside.length} files, more than the ${MAX_FILES_IN_FOLDER} that one finds ` +
      'something among; sort them into folders by subject.';
    return [{ path: first.path, line: 1, rule: 'crowded-folder', message }];
  });
}

interface Edge {
  to: string;
  line: number;
}

function listEdges(file: SourceFile): Edge[] {
  return listImports(file).flatMap(({ specifier, line }) => {
    const to = resolveImport(file.path, specifier);
    return to === undefined ? [] : [{ to, line }];
  });
}

/** The shortest way back to where the edge started, or undefined if there is none. */
function findWayBack(from: string, edge: Edge, edges: Map<string, Edge[]>): string[] | undefined {
  const seen = new Set([edge.to]);
  const ways = [[edge.to]];
  for (const way of ways) {
    const last = way.at(-1) ?? '';
    if (last === from) return way;
    for (const { to } of edges.get(last) ?? []) {
      if (!seen.has(to)) ways.push([...way, to]);
      seen.add(to);
    }
  }
  return undefined;
}

/** Types count too: whoever wants to understand one of the files has to read them all. */
export function findImportCycles(files: SourceFile[]): Finding[] {
  const product = productFiles(files, 'packages/');
  const edges = new Map(product.map((file) => [file.path, listEdges(file)]));
  const told = new Set<string>();
  return product.flatMap(({ path }) =>
    (edges.get(path) ?? []).flatMap((edge) => {
      const way = findWayBack(path, edge, edges);
      if (way === undefined || way.some((step) => told.has(step))) return [];
      for (const step of way) told.add(step);
      const message =
        `The files import each other, so none can be read first: ${[path, ...way].join(' → ')}; ` +
        'move what they share to a file of its own.';
      return [{ path, line: edge.line, rule: 'import-cycle', message }];
    }),
  );
}
