import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';

/** Files that belong to a process, and what can be made again. */
const LEFT_OUT = /^berth\.(?:lock|pid|sock)$|^control\.json$|^cloud\.(?:lock|pid)$/;

type Texts = Readonly<Record<string, string>>;

/** Texts by name, compressed as one. A large window finds what they have in common. */
export function packTexts(texts: Texts): Uint8Array {
  const { BROTLI_PARAM_LGWIN: window, BROTLI_MAX_WINDOW_BITS: largest } = constants;
  return brotliCompressSync(JSON.stringify(texts), { params: { [window]: largest } });
}

export function unpackTexts(file: string): Texts {
  return JSON.parse(brotliDecompressSync(readFileSync(file)).toString('utf8')) as Texts;
}

/** All files of a folder in base64, by their paths. */
export function packFolder(folder: string): Uint8Array {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !LEFT_OUT.test(entry.name))
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort();
  const named = files.map((file) => {
    return [relative(folder, file).replaceAll(sep, '/'), readFileSync(file).toString('base64')] as const;
  });
  return packTexts(Object.fromEntries(named));
}

/** Only its owner may use what is unpacked, whatever the mask of the process is. */
export function unpackFolder(file: string, folder: string): void {
  for (const [path, content] of Object.entries(unpackTexts(file))) {
    const target = join(folder, path);
    makePrivate(folder, dirname(target));
    writeFileSync(target, Buffer.from(content, 'base64'), { mode: 0o600 });
  }
}

function makePrivate(root: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (let path = folder; path.startsWith(root); path = dirname(path)) {
    if ((statSync(path).mode & 0o77) !== 0) chmodSync(path, 0o700);
  }
}
