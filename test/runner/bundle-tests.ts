import { readFile } from 'node:fs/promises';
import { SourceMap } from 'node:module';
import { dirname, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { BUILT, writeBuilt } from './build-program.ts';

/** What tests share most, besides our own code. Other packages stay where they are. */
const BUNDLED = /^(?:node:|@berth\/|fast-check$|yaml$|zod$)/;

const leavePackages: Plugin = {
  name: 'leave-packages',
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path }) =>
      BUNDLED.test(path) ? undefined : { path, external: true },
    );
  },
};

/** Each file finds its neighbours, as if it had been loaded itself. */
const keepPlaces: Plugin = {
  name: 'keep-places',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const contents = await readFile(path, 'utf8');
      const text = contents.replaceAll('import.meta', 'importMeta');
      return { contents: text === contents ? text : describePlace(path) + text, loader: 'ts' };
    });
  },
};

function describePlace(path: string): string {
  const { href } = pathToFileURL(path);
  const facts = JSON.stringify({ url: href, filename: path, dirname: dirname(path), main: false });
  const find = `require('node:module').createRequire(${JSON.stringify(href)}).resolve(name)`;
  const resolve = `(name) => require('node:url').pathToFileURL(${find}).href`;
  return `const importMeta = { ...${facts}, resolve: ${resolve} };`;
}

/** The place of something in a bundle. */
const PLACE = /\/\S+\/tests-[0-9a-f]+\.cjs:(\d+)(?::(\d+))?/g;

/**
 * Many processes would load the same thousand files, which takes each of them a second or more. Here all test
 * files and what they need are one file, with `load(file)`.
 */
export class TestBundle {
  readonly file: string;
  readonly #map: string;
  #read: SourceMap | undefined;

  private constructor(file: string, map: string) {
    this.file = file;
    this.#map = map;
  }

  static async make(files: readonly string[], root: string): Promise<TestBundle> {
    const entries = files.map((file) => `${JSON.stringify(file)}: () => require(${JSON.stringify(file)})`);
    const contents = `const FILES = {${entries}};\nexports.load = (file) => FILES[file]();`;
    const { outputFiles } = await build({
      absWorkingDir: root,
      stdin: { contents, resolveDir: root },
      bundle: true,
      write: false,
      outdir: BUILT,
      sourcemap: 'external',
      sourcesContent: false,
      platform: 'node',
      format: 'cjs',
      target: 'node26',
      plugins: [leavePackages, keepPlaces],
      logLevel: 'warning',
    });
    const [map = '', text = ''] = outputFiles.map((output) => output.text);
    return new TestBundle(writeBuilt('tests', 'cjs', text), map);
  }

  /** A text with places in the bundle, such as a stack, with those in the sources. */
  translate(text: string): string {
    return text.replace(PLACE, (place, line: string, column = '1') => {
      this.#read ??= new SourceMap(JSON.parse(this.#map));
      const found = this.#read.findEntry(Number(line) - 1, Number(column) - 1);
      if (!('originalSource' in found)) return place;
      return `${relative('', resolve(BUILT, found.originalSource))}:${found.originalLine + 1}`;
    });
  }
}
