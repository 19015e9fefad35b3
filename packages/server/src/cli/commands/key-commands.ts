import type { GetAnswer, PostAnswer } from '@berth/protocol/admin/admin-api';
import { formatFacts } from '@berth/shell/console/console-text';
import type { CallOf } from '@berth/shell/console/hints';
import { createKeyExportFile } from '../../services/keys/key-export-file.ts';
import type { AdminAnswer, AdminClient } from '../admin-client.ts';
import { type Command, defineCommand, type Flags, type LocalContext } from '../command.ts';
import { readBytes } from '../files.ts';
import { InputError } from '../read-secrets.ts';

/** Keys are never given on the command line, because every user of the machine can read it. */
export const KEY_COMMANDS: readonly Command[] = [
  defineCommand({
    words: 'key show',
    about: 'show the fingerprints of the keys',
    ask: (client) => client.get('/api/admin/keys'),
    show: showKeys,
  }),
  defineCommand({
    words: 'key set',
    about: 'set the keys for the licensing cloud; standard input provides one per line',
    reads: () => [{ text: 'API key (empty: unchanged)' }, { text: 'shared key (empty: unchanged)' }],
    ask: askSetKeys,
    show: showSet,
  }),
  defineCommand({
    words: 'key rotate',
    usage: '[--new-key]',
    about: 'seal all secrets with a new master key; --new-key reads it from standard input',
    reads: (flags) => (flags['new-key'] ? [{ text: 'new master key' }] : []),
    ask: (client, _, __, [newKey]) => client.post('/api/admin/keys/rotate', { new_key: newKey }),
    show: showRotated,
  }),
  defineCommand({
    words: 'key export',
    usage: '[--out FILE]',
    about: 'write the master key to a new file, sealed with a passphrase from standard input, and check it',
    reads: () => [{ text: 'passphrase', isNew: true }],
    ask: askExport,
    show: showExport,
  }),
  defineCommand({
    words: 'key import',
    arguments: ['FILE'],
    about: 'install an exported master key; the server must be stopped',
    reads: () => [{ text: 'passphrase' }],
    local: importKey,
    show: ({ fingerprint }) => `Installed master key ${fingerprint}.`,
  }),
];

const NAMED_LINE = /^(api|shared)_?key=(.*)$/is;

/** Two lines in this order, or lines that name their key, in any order. */
function askSetKeys(client: AdminClient, _: readonly string[], __: unknown, lines: readonly string[]) {
  const named = lines.map((line) => NAMED_LINE.exec(line)).filter((match) => match !== null);
  if (named.length === 0) return client.post('/api/v4/setKeys', { api_key: lines[0], shared_key: lines[1] });
  if (named.length < lines.filter((line) => line !== '').length) {
    throw new InputError('Name both keys, or neither.');
  }
  const keys = new Map(named.map(([, name = '', value]) => [name.toLowerCase(), value]));
  if (keys.size < named.length) {
    throw new InputError('The same key is given twice.');
  }
  return client.post('/api/v4/setKeys', { api_key: keys.get('api'), shared_key: keys.get('shared') });
}

function showKeys({ cloud_keys, master_key }: GetAnswer<'/api/admin/keys'>): string {
  const { fingerprint, source, file } = master_key;
  const origin = source === 'file' ? (file ?? source) : 'the environment';
  return formatFacts({ ...cloudFacts(cloud_keys), 'master key': `${fingerprint}, from ${origin}` });
}

function showSet({ changed, ...keys }: PostAnswer<'/api/v4/setKeys'>): string {
  const names = changed.map((name) => name.replace('_', ' '));
  return `Set: ${names.join(', ')}.\n${formatFacts(cloudFacts(keys))}`;
}

function cloudFacts({
  api_key_fingerprint: api,
  shared_key_fingerprint: shared,
}: GetAnswer<'/api/admin/keys'>['cloud_keys']) {
  return { 'API key': api ?? 'not set', 'shared key': shared ?? 'not set' };
}

function showRotated(
  { fingerprint, replaced, source }: PostAnswer<'/api/admin/keys/rotate'>,
  callOf: CallOf,
): string {
  const done = `All secrets are sealed with master key ${fingerprint}; ${replaced} no longer opens them.`;
  if (source === 'file') return `${done}\nCreate a new export: "${callOf('key export --out FILE')}".`;
  return `${done}\nPut the new key into BERTH_MASTER_KEY before the next start.`;
}

interface SavedExport {
  readonly saved_as: string;
  readonly fingerprint: string;
}

/** Creates the file first, so that an export that cannot be saved is neither made nor recorded. */
async function askExport(
  client: AdminClient,
  _: readonly string[],
  { out }: Flags,
  [passphrase = '']: readonly string[],
): Promise<AdminAnswer<object>> {
  if (passphrase === '') {
    throw new InputError(
      'The export needs a passphrase. Type one, or send it on standard input. Nothing was done.',
    );
  }
  const ask = () => client.post('/api/admin/keys/export', { passphrase });
  if (out === undefined) return ask();
  const file = createKeyExportFile(out);
  let isFilled = false;
  try {
    const answer = await ask();
    if (!answer.ok) return answer;
    const fingerprint = await file.fill(`${JSON.stringify(answer.body)}\n`, passphrase);
    isFilled = true;
    return { ok: true, body: { saved_as: out, fingerprint } };
  } finally {
    if (!isFilled) file.discard();
  }
}

/** Without a file, the export itself is printed. */
function showExport(body: SavedExport | object): string {
  if (!('saved_as' in body)) return JSON.stringify(body);
  return (
    `Saved master key ${body.fingerprint} in ${body.saved_as}. ` +
    'The file was read back and opens with the passphrase.\n' +
    'Keep the file away from the data, and the passphrase away from both.'
  );
}

async function importKey({ words: [file = ''], lines: [passphrase = ''], importMasterKey }: LocalContext) {
  const fingerprint = await importMasterKey(decodeText(readBytes(file)), passphrase);
  return { ok: true, body: { fingerprint } } as const;
}

/** Windows PowerShell redirects output as UTF-16. */
function decodeText(bytes: Buffer): string {
  const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
  return bytes.toString(isUtf16 ? 'utf16le' : 'utf8');
}
