import { closeSync, openSync, writeFileSync } from 'node:fs';
import type { GetAnswer, PostAnswer } from '@berth/protocol/admin/admin-api';
import { INITIALIZATION_CODE_BYTES, SIGNED_CODE_BYTES } from '@berth/protocol/carried/airgap-codes';
import { readScannedText, writeScannedText } from '@berth/protocol/carried/scanned-text';
import {
  codeSymbols,
  groupCode,
  groupGrantKey,
  groupHardwareId,
  isWholeCode,
  readTypedCode,
} from '@berth/protocol/carried/typed-code';
import { formatFacts } from '@berth/shell/console/console-text';
import type { CallOf } from '@berth/shell/console/hints';
import { type AdminAnswer, type AdminClient, type RefusedAnswer, withFacts } from '../admin-client.ts';
import { LICENSE_SYNONYM, licenseOf } from '../choose-license.ts';
import { type Command, defineCommand, type Flags } from '../command.ts';
import { cannot, readBytes } from '../files.ts';
import { InputError, type SecretPrompt } from '../read-secrets.ts';

/** Licenses for servers without internet: from files and from codes. */
export const OFFLINE_COMMANDS: readonly Command[] = [
  defineCommand({
    words: 'offline request',
    usage: '[--product P] [--license-key K] [--user U] [--license ID] [--deactivate] [--out FILE]',
    otherFlags: LICENSE_SYNONYM,
    about: 'create a file that requests a license from the vendor; --deactivate returns one',
    precheck: async (client, _, { deactivate }) =>
      deactivate === true ? null : refuseWithoutKey(client, { isByCodes: false }),
    ask: askRequest,
    show: ({ request_data, saved_as, request_id, identity_key }) =>
      saved_as === undefined
        ? request_data
        : `Saved request ${request_id} in ${saved_as}.\nThe identity key of this server is ${identity_key}.`,
  }),
  defineCommand({
    words: 'offline install',
    arguments: ['FILE'],
    about: 'install a license file from the vendor, new or refreshed',
    ask: async (client, [file = '']) =>
      addCertificate(client, await carry(file, (text) => client.upload('/api/v4/license/upload', text))),
    show: showInstalled,
  }),
  defineCommand({
    words: 'offline usage',
    usage: '[--out FILE]',
    about: 'create a file with the consumption of licenses installed from files',
    ask: async (client, _, { out }) => save(await client.post('/api/admin/usage'), 'usage_data', out),
    show: ({ usage_data, saved_as, sequence }) =>
      saved_as === undefined ? usage_data : `Saved usage file ${sequence} in ${saved_as}.`,
  }),
  defineCommand({
    words: 'airgap activate',
    arguments: ['LICENSE-KEY'],
    usage: '[--qr]',
    about: "create this server's activation code from the vendor's initialization code on standard input",
    precheck: (client) => refuseWithoutKey(client, { isByCodes: true }),
    reads: () => [codePrompt('initialization code', INITIALIZATION_CODE_BYTES)],
    ask: (client, [key], _, [typed = '']) => {
      const code = readScannedText(typed, 'initialization_code')?.get('initialization_code') ?? typed;
      const signing_key = readCode('initialization code', code, INITIALIZATION_CODE_BYTES);
      return client.post('/api/v4/airgap/generate', { license_key: key, signing_key });
    },
    show: showCodes,
    scan: ({ activation_code, hardware_id, license_key, grant_key }) =>
      writeScannedText({
        license_key,
        hardware_id,
        activation_code: codeSymbols(activation_code),
        grant_key,
      }),
  }),
  defineCommand({
    words: 'airgap install',
    arguments: ['POLICY-FILE'],
    usage: '[--license-key K] [--policy-id N] [--confirmation-code C]',
    about:
      'install a policy file; the confirmation code may come from standard input, and a scanned QR code ' +
      'includes the other two values',
    reads: (flags) =>
      flags['confirmation-code'] === undefined ? [codePrompt('confirmation code', SIGNED_CODE_BYTES)] : [],
    ask: async (client, words, flags, typed) =>
      addCertificate(client, await askPolicy(client, words, flags, typed)),
    show: showInstalled,
  }),
];

type Codes = PostAnswer<'/api/v4/airgap/generate'>;
type License = PostAnswer<'/api/v4/license/upload'>;
type Certificate = GetAnswer<'/api/admin/identity'>['licenses'][number]['certificate'];

/** `certificate` is missing if the server did not say. */
type InstalledLicense = License & { readonly certificate?: Certificate };

/** Before the request uses up an activation at the vendor, whose answer the server could not verify. */
async function refuseWithoutKey(
  client: AdminClient,
  { isByCodes }: { readonly isByCodes: boolean },
): Promise<RefusedAnswer | null> {
  const answer = await client.get('/api/admin/settings');
  if (!answer.ok) return answer;
  const find = (name: string) => answer.body.settings.find((one) => one.name === name)?.value;
  const isUnsigned = isByCodes && find('airgap.acceptUnsignedPolicies') === true;
  const needed = [...(isByCodes ? ['airgap.publicKey'] : []), ...(isUnsigned ? [] : ['cloud.publicKey'])];
  const missing = needed.find((name) => String(find(name)) === '');
  if (missing === undefined) return null;
  const code = missing === 'airgap.publicKey' ? 'airgap_key_not_configured' : 'offline_key_not_configured';
  const message =
    `Set ${missing} to the key of the vendor first: without it, the server could not verify the answer. ` +
    'The page asks for it at "Add a license".';
  return { ok: false, body: { code, message } };
}

async function askRequest(client: AdminClient, _: readonly string[], flags: Flags) {
  requireWritable(flags.out);
  const { license, 'license-id': id } = flags;
  const answer = await client.post('/api/v4/license/generate', {
    product: flags.product,
    license_key: flags['license-key'],
    username: flags.user,
    license_id: await licenseOf(client, { license, 'license-id': id }),
    request: flags.deactivate ? 'deactivation' : 'activation',
  });
  return save(answer, 'request_data', flags.out);
}

function askPolicy(
  client: AdminClient,
  [file = '']: readonly string[],
  flags: Flags,
  [typed = '']: readonly string[],
): Promise<AdminAnswer<License>> {
  const text = flags['confirmation-code'] ?? typed;
  const scanned = readScannedText(text, 'confirmation_code');
  const code = scanned?.get('confirmation_code') ?? text;
  const license_key = flags['license-key'] ?? scanned?.get('license_key');
  const policy_id = flags['policy-id'] ?? scanned?.get('policy_id');
  if (license_key === undefined || policy_id === undefined) {
    const missing = license_key === undefined ? '--license-key K' : '--policy-id N';
    throw new InputError(
      `Add ${missing}: the vendor provides it with the confirmation code. Nothing was done.`,
    );
  }
  return carry(file, (policy) =>
    client.post('/api/v4/airgap/license', {
      license_policy: policy,
      license_key,
      policy_id,
      confirmation_code: readCode('confirmation code', code, SIGNED_CODE_BYTES),
    }),
  );
}

function codePrompt(text: string, bytes: number): SecretPrompt {
  return { text, isWhole: (typed) => isWholeCode(typed, bytes) };
}

/** The input still has its lines as typed, so the error can name the line. */
function readCode(what: string, typed: string, bytes: number): string {
  if (typed.trim() === '') return '';
  const read = readTypedCode(typed, bytes);
  if ('code' in read) return read.code;
  throw new InputError(`The ${what} is mistyped. ${read.fault} Nothing was done.`);
}

function showCodes({ activation_code, hardware_id, grant_key }: Codes): string {
  const grouped = groupHardwareId(hardware_id);
  return [
    formatFacts({
      'activation code': activation_code,
      'hardware id': hardware_id,
      'grant key': grant_key,
    }),
    'The same in groups for typing. Each line ends with a check character that reveals typing mistakes:',
    `Activation code:\n${groupCode(activation_code)}`,
    ...(grouped === null ? [] : [`Hardware id:\n${grouped}`]),
    `Grant key, if applications verify what they are lent:\n${groupGrantKey(grant_key)}`,
  ].join('\n\n');
}

/** A deactivated license stops before its file is written, so check first that it can be. */
function requireWritable(out: string | undefined): void {
  if (out === undefined) return;
  try {
    closeSync(openSync(out, 'a', 0o600));
  } catch (error) {
    cannot('written', out)(error);
  }
}

/** Writes no line break at the end: the file is compared byte by byte. */
function save<Field extends string, Made extends Readonly<Record<Field, string>>>(
  answer: AdminAnswer<Made>,
  field: Field,
  out: string | undefined,
): AdminAnswer<Made & { readonly saved_as?: string }> {
  if (!answer.ok || out === undefined) return answer;
  try {
    writeFileSync(out, answer.body[field], { mode: 0o600 });
  } catch (error) {
    cannot('written', out)(error);
  }
  return withFacts(answer, { saved_as: out });
}

/** Codes that mean that the file itself is bad. */
const BAD_FILE: ReadonlySet<string | undefined> = new Set([
  'offline_file_invalid',
  'offline_signature_mismatch',
  'airgap_policy_invalid',
  'payload_too_large',
]);

const REMEDY = 'Copy it again exactly as the vendor sent it, or ask the vendor for a new one.';

/** Sends a file of the vendor to the server. Errors about the file name it. */
async function carry<Body>(
  file: string,
  send: (text: string) => Promise<AdminAnswer<Body>>,
): Promise<AdminAnswer<Body>> {
  const answer = await send(readInput(file));
  if (answer.ok || !BAD_FILE.has(answer.body.code)) return answer;
  const { code, message } = answer.body;
  const problem = code === 'payload_too_large' ? 'It is too large for a license.' : message;
  return {
    ok: false,
    body: { ...answer.body, message: `${file} was not installed. ${problem} ${REMEDY}` },
  };
}

/** The license, with the certificate that came with it or before it. */
async function addCertificate(
  client: AdminClient,
  answer: AdminAnswer<License>,
): Promise<AdminAnswer<InstalledLicense>> {
  if (!answer.ok) return answer;
  const identity = await client.get('/api/admin/identity');
  if (!identity.ok) return answer;
  const { id } = answer.body;
  const certificate = identity.body.licenses.find((one) => one.license_id === id)?.certificate ?? null;
  return withFacts(answer, { certificate });
}

/** The text of a file of the vendor. */
export function readInput(file: string): string {
  const text = readBytes(file).toString('utf8');
  if (text.trim() === '') throw new InputError(`${file} is empty. ${REMEDY}`);
  return text;
}

function showInstalled(license: InstalledLicense, callOf: CallOf): string {
  const { id, product, floating_users, validity_period, certificate } = license;
  const until = validity_period === null ? 'forever' : `until ${validity_period}`;
  const installed = `Installed license ${id} for "${product}": ${floating_users} slots, valid ${until}.`;
  return certificate === undefined ? installed : `${installed}\n${sayCertified(certificate, callOf)}`;
}

function sayCertified(certificate: Certificate, callOf: CallOf): string {
  if (certificate !== null) {
    const { expires_at: until } = certificate;
    return `Applications can verify what they are lent: its certificate is valid until ${until}.`;
  }
  const how = `install the vendor's with "${callOf('identity certify FILE')}"`;
  return `It has no certificate. If applications verify what they are lent, ${how}.`;
}
