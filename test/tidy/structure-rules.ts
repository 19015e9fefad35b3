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

/** An import, of a file or of another folder. */
interface Edge {
  to: string;
  path: string;
  line: number;
}

function listEdges(file: SourceFile): Edge[] {
  return listImports(file).flatMap(({ specifier, line }) => {
    const to = resolveImport(file.path, specifier);
    return to === undefined ? [] : [{ to, path: file.path, line }];
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

function findCycles(edges: Map<string, Edge[]>, rule: string, advice: string): Finding[] {
  const told = new Set<string>();
  return [...edges].flatMap(([from, out]) =>
    out.flatMap((edge) => {
      const way = findWayBack(from, edge, edges);
      if (way === undefined || way.some((step) => told.has(step))) return [];
      for (const step of way) told.add(step);
      const circle = [from, ...way].join(' → ');
      const message = `These import each other, so none can be read first: ${circle}; ${advice}.`;
      return [{ path: edge.path, line: edge.line, rule, message }];
    }),
  );
}

/** Types count too: whoever wants to understand one of the files has to read them all. */
export function findImportCycles(files: SourceFile[]): Finding[] {
  const edges = new Map(productFiles(files, 'packages/').map((file) => [file.path, listEdges(file)]));
  return findCycles(edges, 'import-cycle', 'move what they share to a file of its own');
}

/** Folders are layers. Only a folder and those within it may import each other. */
export function findFolderCycles(files: SourceFile[]): Finding[] {
  const imports = productFiles(files, 'packages/').flatMap(listEdges);
  const between = imports
    .map((edge) => ({ ...edge, to: posix.dirname(edge.to) }))
    .filter(
      ({ path, to }) => !`${path}/`.startsWith(`${to}/`) && !`${to}/`.startsWith(`${posix.dirname(path)}/`),
    );
  const edges = Map.groupBy(between, ({ path }) => posix.dirname(path));
  return findCycles(edges, 'folder-cycle', 'move the files that lead back');
}
