import {
  openSealed,
  readSealed,
  type SealedText,
  type Stretch,
  sealText,
} from '@berth/shell/files/passphrase-seal';
import { parseMasterKey } from './master-key.ts';
import { type MasterKey, SealError } from './seal.ts';

/** The master key sealed with a passphrase. */
export interface KeyExport extends SealedText {
  readonly format: 'berth key export';
  readonly version: 1;
}

/** The sealed content. */
interface ExportedKey {
  readonly masterKey: MasterKey;
  /** The id of the store that it opens. */
  readonly identity: string;
}

const FORMAT = 'berth key export';
const VERSION = 1;
const PURPOSE = `${FORMAT}\0${VERSION}`;

/** An export has a few hundred characters. */
const MAX_EXPORT_LENGTH = 16 * 1024;

/** `toKey`: most tests use a fast replacement. */
export async function sealExport(
  content: ExportedKey,
  passphrase: string,
  toKey?: Stretch,
): Promise<KeyExport> {
  const masterKey = Buffer.from(content.masterKey).toString('hex');
  const text = JSON.stringify({ masterKey, identity: content.identity });
  return { format: FORMAT, version: VERSION, ...(await sealText(PURPOSE, text, passphrase, toKey)) };
}

/** Opens an export, or throws; the message says whether the file or the passphrase is wrong. */
export async function openExport(text: string, passphrase: string, toKey?: Stretch): Promise<ExportedKey> {
  const file = findExport(text);
  const seal = file.version === VERSION ? readSealed(file) : null;
  if (seal === null) throw damaged();
  const opened = parseKey(await openSealed(PURPOSE, seal, passphrase, toKey));
  if (opened === null) throw new SealError(WRONG_PASSPHRASE);
  return opened;
}

function parseKey(plain: string | null): ExportedKey | null {
  const { masterKey = '', identity = '' } = parseObject(plain ?? '') as Partial<Record<string, string>>;
  try {
    return { masterKey: parseMasterKey(masterKey, 'the export'), identity };
  } catch {
    return null;
  }
}

/** Finds the export in the text: other programs, such as npm, may have printed lines before and after it. */
function findExport(text: string): Readonly<Record<string, unknown>> {
  if (text.length > MAX_EXPORT_LENGTH) throw new SealError(NO_EXPORT);
  const span = text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1);
  const found = [span, ...text.split('\n')].map(parseObject).filter(({ format }) => format === FORMAT);
  const exports = new Map(found.map((file) => [JSON.stringify(file), file]));
  const [first] = exports.values();
  if (first === undefined) throw text.includes(FORMAT) ? damaged() : new SealError(NO_EXPORT);
  if (exports.size > 1) throw new SealError('The file contains more than one export. Keep the one you need.');
  return first;
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

const NO_EXPORT = 'The file does not contain a key export. Create one with "berth key export --out FILE".';
const WRONG_PASSPHRASE = 'The export cannot be opened: the passphrase is wrong.';

function damaged(): SealError {
  return new SealError('The export cannot be opened: the file is damaged. Use another copy.');
}
