/** A file of a bundle. */
export interface BundleFile {
  /** At most 100 bytes of ASCII. */
  readonly name: string;
  readonly text: string;
}

const BLOCK = 512;
const ENDING = Buffer.alloc(2 * BLOCK);

/** The files as a tar archive (ustar), all dated alike and readable by their owner only. */
export function writeTar(files: readonly BundleFile[], atSeconds: number): Buffer {
  const blocks = files.flatMap(({ name, text }) => {
    const bytes = Buffer.from(text, 'utf8');
    const padding = Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK);
    return [writeHeader(name, bytes.length, atSeconds), bytes, padding];
  });
  return Buffer.concat([...blocks, ENDING]);
}

/** Where the fields of a header begin. */
const FIELDS = {
  name: 0,
  mode: 100,
  uid: 108,
  gid: 116,
  size: 124,
  mtime: 136,
  sum: 148,
  type: 156,
  magic: 257,
};

function writeHeader(name: string, size: number, atSeconds: number): Buffer {
  const header = Buffer.alloc(BLOCK);
  const writeOctal = (at: number, value: number, digits: number) =>
    header.write(`${value.toString(8).padStart(digits, '0')}\0`, at, 'ascii');
  header.write(name, FIELDS.name, 100, 'ascii');
  writeOctal(FIELDS.mode, 0o600, 7);
  writeOctal(FIELDS.uid, 0, 7);
  writeOctal(FIELDS.gid, 0, 7);
  writeOctal(FIELDS.size, size, 11);
  writeOctal(FIELDS.mtime, atSeconds, 11);
  header.write('0', FIELDS.type, 'ascii');
  header.write('ustar\x0000', FIELDS.magic, 'ascii');
  // The sum counts its own field as spaces.
  header.fill(' ', FIELDS.sum, FIELDS.sum + 8);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, FIELDS.sum, 'ascii');
  return header;
}
