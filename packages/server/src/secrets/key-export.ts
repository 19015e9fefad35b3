import { openSealed, type SealedText, type Stretch, sealText } from '@berth/shell/files/passphrase-seal';
import { parseMasterKey } from './master-key.ts';
import { type MasterKey, SealError } from './seal.ts';

/** The sealed content. */
interface ExportedKey {
  readonly masterKey: MasterKey;
  /** The id of the store that it opens. */
  readonly identity: string;
}

const FORMAT = 'berth key export';

/** An export has a few hundred characters. */
const MAX_EXPORT_LENGTH = 16 * 1024;

/** The master key sealed with a passphrase. `toKey`: most tests use a fast replacement. */
export function sealExport(content: ExportedKey, passphrase: string, toKey?: Stretch): Promise<SealedText> {
  const masterKey = Buffer.from(content.masterKey).toString('hex');
  return sealText(FORMAT, JSON.stringify({ masterKey, identity: content.identity }), passphrase, toKey);
}

/** Opens an export, or throws; the message says whether the file or the passphrase is wrong. */
export async function openExport(text: string, passphrase: string, toKey?: Stretch): Promise<ExportedKey> {
  const opened = await openSealed(FORMAT, findExport(text), passphrase, toKey);
  if (opened.problem !== null) throw new SealError(opened.problem);
  const { masterKey, identity } = JSON.parse(opened.text) as Record<'masterKey' | 'identity', string>;
  return { masterKey: parseMasterKey(masterKey, 'the export'), identity };
}

/** Finds the export in the text: other programs, such as npm, may have printed lines before and after it. */
function findExport(text: string): Readonly<Record<string, unknown>> {
  if (text.length > MAX_EXPORT_LENGTH) throw new SealError(NO_EXPORT);
  const span = text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1);
  const found = [span, ...text.split('\n')].map(parseObject).filter(({ format }) => format === FORMAT);
  const exports = new Map(found.map((file) => [JSON.stringify(file), file]));
  const [first] = exports.values();
  if (!text.includes(FORMAT)) throw new SealError(NO_EXPORT);
  if (exports.size > 1) throw new SealError('The file contains more than one export. Keep the one you need.');
  return first ?? {};
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
