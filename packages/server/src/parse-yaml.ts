import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** The parser is loaded with the first file: most commands read none, and it takes long to load. */
export function loadYaml(): typeof import('yaml') {
  return require('yaml');
}

export function parseYaml(text: string, options: object = {}): unknown {
  return loadYaml().parse(text, options);
}
