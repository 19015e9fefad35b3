import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import type { AdminAnswer, AdminClient } from './admin-client.ts';
import type { Command, Flags } from './command.ts';
import { InputError } from './read-secrets.ts';
import { formatFacts } from './terminal.ts';

/** Licenses that come without internet: in files, and by codes. */
export const OFFLINE_COMMANDS: readonly Command[] = [
  {
    words: 'offline request',
    arguments: [],
    flags: '[--product P] [--license-key K] [--license-id N] [--deactivate] [--out FILE]',
    about: 'make a file that asks the vendor for a license; --deactivate gives one back',
    ask: askRequest,
    show: ({ request_data, saved_as, request_id, identity_key }: MadeRequest) =>
      saved_as === undefined
        ? request_data
        : `The request ${request_id} is in ${saved_as}.\nThe identity key of this server is ${identity_key}.`,
  },
  {
    words: 'offline install',
    arguments: ['FILE'],
    flags: '',
    about: 'take a license file of the vendor, new or refreshed',
    ask: (client, [file = '']) => carry(file, (text) => client.upload('/api/v4/license/upload', text)),
    show: showInstalled,
  },
  {
    words: 'offline usage',
    arguments: [],
    flags: '[--out FILE]',
    about: 'make a file with what was consumed of licenses that came in files',
    ask: async (client, _, { out }) => save(await client.post('/api/admin/usage'), 'usage_data', out),
    show: ({ usage_data, saved_as, sequence }: MadeUsage) =>
      saved_as === undefined ? usage_data : `The usage file ${sequence} is in ${saved_as}.`,
  },
  {
    words: 'airgap activate',
    arguments: ['LICENSE-KEY'],
    flags: '',
    about: "turn the vendor's initialization code, from standard input, into this server's activation code",
    reads: () => [{ text: 'initialization code' }],
    ask: (client, [key], _, [code]) =>
      client.post('/api/v4/airgap/generate', { license_key: key, signing_key: code }),
    show: ({ activation_code, hardware_id }: Codes) =>
      formatFacts({ 'activation code': activation_code, 'hardware id': hardware_id }),
  },
  {
    words: 'airgap install',
    arguments: ['POLICY-FILE'],
    flags: '--license-key K --policy-id N [--confirmation-code C]',
    about: 'take a policy file; the confirmation code may come from standard input',
    reads: (flags) => (flags['confirmation-code'] === undefined ? [{ text: 'confirmation code' }] : []),
    ask: askPolicy,
    show: showInstalled,
  },
];

interface MadeRequest {
  readonly request_id: string;
  readonly request_data: string;
  readonly identity_key: string;
  readonly saved_as?: string;
}

interface MadeUsage {
  readonly sequence: number;
  readonly usage_data: string;
  readonly saved_as?: string;
}

interface Codes {
  readonly activation_code: string;
  readonly hardware_id: string;
}

interface InstalledLicense {
  readonly id: number;
  readonly product: string;
  readonly floating_users: number;
  readonly validity_period: string | null;
}

async function askRequest(client: AdminClient, _: readonly string[], flags: Flags): Promise<AdminAnswer> {
  requireWritable(flags.out);
  const answer = await client.post('/api/v4/license/generate', {
    product: flags.product,
    license_key: flags['license-key'],
    license_id: flags['license-id'],
    request: flags.deactivate === undefined ? 'activation' : 'deactivation',
  });
  return save(answer, 'request_data', flags.out);
}

function askPolicy(
  client: AdminClient,
  [file = '']: readonly string[],
  flags: Flags,
  [typed]: readonly string[],
): Promise<AdminAnswer> {
  return carry(file, (text) =>
    client.post('/api/v4/airgap/license', {
      license_policy: text,
      license_key: flags['license-key'],
      policy_id: flags['policy-id'],
      confirmation_code: flags['confirmation-code'] ?? typed,
    }),
  );
}

/** A license that is given back stops before its file is there: the file must not fail then. */
function requireWritable(out: string | undefined): void {
  if (out === undefined) return;
  try {
    closeSync(openSync(out, 'a', 0o600));
  } catch (error) {
    throw new InputError(`The file cannot be written: ${(error as Error).message}`);
  }
}

/** The file without a line break at its end: it is compared to the last bit. */
function save(answer: AdminAnswer, field: string, out: string | undefined): AdminAnswer {
  if (!answer.ok || out === undefined) return answer;
  const body = answer.body as Readonly<Record<string, string>>;
  try {
    writeFileSync(out, body[field] as string, { mode: 0o600 });
  } catch (error) {
    throw new InputError(`The file cannot be written: ${(error as Error).message}`);
  }
  return { ok: true, body: { ...body, saved_as: out } as never };
}

/** The file itself is to blame, whatever the server calls it. */
const BAD_FILE: ReadonlySet<string> = new Set([
  'offline_file_invalid',
  'offline_signature_mismatch',
  'airgap_policy_invalid',
  'payload_too_large',
]);

const REMEDY = 'Copy it again exactly as the vendor sent it, or ask the vendor for another one.';

/** Hands a file of the vendor to the server. What is wrong with the file is told with its name. */
async function carry(file: string, send: (text: string) => Promise<AdminAnswer>): Promise<AdminAnswer> {
  const text = readInput(file);
  const answer = await send(text);
  const body = answer.body as { readonly code: string; readonly message: string };
  if (answer.ok || !BAD_FILE.has(body.code)) return answer;
  const problem = body.code === 'payload_too_large' ? 'It is far too large for a license.' : body.message;
  return { ok: false, body: { ...body, message: `${file} was not taken. ${problem} ${REMEDY}` } as never };
}

function readInput(file: string): string {
  const text = readOrExplain(file);
  if (text.trim() === '') throw new InputError(`${file} is empty. ${REMEDY}`);
  return text;
}

function readOrExplain(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new InputError(`There is no file ${file}.`);
    if (code === 'EISDIR') throw new InputError(`${file} is a folder. Name the file in it.`);
    throw new InputError(`${file} cannot be read: ${message}`);
  }
}

function showInstalled({ id, product, floating_users, validity_period }: InstalledLicense): string {
  const until = validity_period === null ? 'for ever' : `until ${validity_period}`;
  return `The license ${id} of "${product}" is here: ${floating_users} slots, valid ${until}.`;
}
