import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** The parser is loaded with the first file: most commands read none, and it takes long to load. */
export function parseYaml(text: string, options: object = {}): unknown {
  return require('yaml').parse(text, options);
}

/** A node of a parsed document; a pair has a key. */
interface YamlNode {
  readonly range: readonly [number, ...number[]];
  readonly items?: readonly YamlNode[];
  readonly key?: YamlNode;
  readonly value?: YamlNode | string;
}

/** The line, counted from 1, of the value that the names and indexes lead to. */
export function findYamlLine(text: string, path: readonly (string | number)[], options: object = {}): number {
  const { LineCounter, parseDocument } = require('yaml');
  const lineCounter = new LineCounter();
  let node: YamlNode = parseDocument(text, { ...options, lineCounter }).contents;
  let [start] = node.range;
  for (const step of path) {
    const named = (item: YamlNode, index: number) => step === index || item.key?.value === step;
    const item = node.items?.find(named);
    if (item === undefined) break;
    [start] = (item.key ?? item).range;
    node = item.key === undefined ? item : (item.value as YamlNode);
  }
  return lineCounter.linePos(start).line;
}
