import { createHash, type KeyObject, randomUUID } from 'node:crypto';
import {
  INITIALIZATION_CODE_BYTES,
  isConfirmationCode,
  makeActivationCode,
  readInitializationCode,
  SIGNED_CODE_BYTES,
} from '@berth/protocol/carried/airgap-codes';
import { LicenseFileError } from '@berth/protocol/carried/license-file';
import { readTypedCode } from '@berth/protocol/carried/typed-code';
import { RequestError } from '@berth/protocol/request-error';
import { type FileKind, readVendorFile, type VendorFile } from '../../cloud/read-file.ts';
import type { FileFacts } from '../../core/command.ts';
import type { Actor } from '../../core/nouns/actor.ts';
import { type License, type LicenseTie, NO_TIE } from '../../core/nouns/license.ts';
import type { Refused } from '../../core/outcome.ts';
import type { LicenseRecord } from '../../store/query.ts';
import type { Store } from '../../store/store.ts';
import type { Certification } from '../grants/certification.ts';
import type { GrantKeys } from '../grants/grant-keys.ts';
import type { Identity } from '../identity/identity.ts';

/** Installs files and codes from the vendor. The core decides whether they are trusted. */
export interface InstallOptions {
  readonly store: Store;
  readonly identity: Identity;
  /** The public keys of license files; none if not set. */
  readonly findVendorKeys: () => Promise<readonly KeyObject[]>;
  /** The public key of confirmation codes; `null` if not set. */
  readonly findAirgapKey: () => Promise<KeyObject | null>;
  readonly acceptUnsignedPolicies: boolean;
  readonly certification: Certification;
  readonly grantKeys: GrantKeys;
}

const NO_KEY =
  'files cannot be verified. Set cloud.publicKey to the public key of the vendor: the page asks for it at ' +
  '"Add a license".';

export interface CodeInput {
  readonly licenseKey: string | null;
  readonly initializationCode: string | null;
}

export interface ActivationCode {
  readonly activationCode: string;
  readonly hardwareId: string;
  readonly licenseKey: string;
  /** The public key of this server's grants, for the vendor to certify. */
  readonly grantKey: string;
}

export interface PolicyInput {
  readonly policy: string | null;
  readonly licenseKey: string | null;
  readonly policyId: string | null;
  readonly confirmationCode: string | null;
}

/** A license file: the answer to a request, or a refresh. */
export async function installFile(
  options: InstallOptions,
  text: string,
  by: Actor,
): Promise<LicenseRecord | Refused> {
  const { identity } = options;
  const vendorKeys = await options.findVendorKeys();
  if (vendorKeys.length === 0) throw new RequestError('offline_key_not_configured', `License ${NO_KEY}`);
  const file = readOrReject(text, 'license', vendorKeys);
  const facts: FileFacts = {
    kind: 'offline',
    isSigned: file.isSigned,
    boundTo: file.hardwareId,
    requestId: file.requestId,
    issuedAt: file.issuedAt,
    isConfirmed: false,
    licenseKey: null,
    policyId: null,
    confirmationId: null,
  };
  const bound = { hardwareId: file.hardwareId, isIdChosen: await identity.isChosen() };
  return take(options, file, { source: 'offline', bound, facts, by });
}

function readOrReject(text: string, kind: FileKind, keys: readonly KeyObject[]): VendorFile {
  try {
    return readVendorFile(text, kind, keys);
  } catch (error) {
    if (!(error instanceof LicenseFileError)) throw error;
    const code = kind === 'license' ? 'offline_file_invalid' : 'airgap_policy_invalid';
    throw new RequestError(code, `The file cannot be read. ${error.message}`);
  }
}

interface Taking {
  readonly source: 'offline' | 'airgap';
  readonly bound: Pick<LicenseTie, 'hardwareId' | 'isIdChosen'>;
  readonly facts: FileFacts;
  readonly by: Actor;
}

/** A license for a single machine has no slots, whatever its file says. */
async function take(options: InstallOptions, file: VendorFile, { source, bound, facts, by }: Taking) {
  const { store, certification } = options;
  const slots = file.isFloating ? file.license.slots : 0;
  const { hardwareId } = bound;
  const expected = { license: file.license, hardwareId, known: undefined, isDemanded: false };
  const certificate = await certification.accept(facts.isSigned ? file.certificates : [], expected);
  const tie = { ...NO_TIE, ...bound, ...(certificate === null ? {} : { certificate }) };
  const license: License = { ...file.license, slots, source, tie };
  // They only count if nothing was counted here.
  const counted = { ...file.counted, askedAt: file.issuedAt, takesLower: true };
  const installation = { license, counted, file: facts, replacesSame: true, by } as const;
  const outcome = await store.execute({ kind: 'install_license', ...installation });
  if (outcome.kind === 'refused') return outcome;
  const records = await store.read({ kind: 'list_licenses', product: null });
  const record = records.find((one) => one.license.id === license.id);
  if (record !== undefined) return record;
  throw new RequestError('license_not_found', 'The license was removed at the same time.');
}

export async function activateByCode(
  options: InstallOptions,
  input: CodeInput,
  by: Actor,
): Promise<ActivationCode> {
  const { store, identity, grantKeys } = options;
  const licenseKey = needField('license_key', input.licenseKey);
  const typed = needField('signing_key', input.initializationCode);
  const read = readTypedCode(typed, INITIALIZATION_CODE_BYTES);
  const key = 'fault' in read ? null : readInitializationCode(read.code);
  if (key === null) {
    const where = 'fault' in read ? ` ${read.fault}` : '';
    throw new RequestError(
      'airgap_code_invalid',
      `The initialization code ("signing_key") is not valid. Check it character by character.${where}`,
    );
  }
  const hardwareId = await identity.readHardwareId();
  const activationCode = makeActivationCode(key, { hardwareId, licenseKey });
  const request = { requestId: randomUUID(), request: 'airgap', product: null, licenseKey } as const;
  await store.execute({ kind: 'open_request', ...request, by });
  const [{ jwk }] = await grantKeys.list();
  return { activationCode, hardwareId, licenseKey, grantKey: jwk.x };
}

export async function installPolicy(options: InstallOptions, input: PolicyInput, by: Actor) {
  const { identity } = options;
  const [vendorKeys, airgapKey] = [await options.findVendorKeys(), await options.findAirgapKey()];
  const policy = needField('license_policy', input.policy);
  const licenseKey = needField('license_key', input.licenseKey);
  const policyId = needField('policy_id', input.policyId);
  const typed = needField('confirmation_code', input.confirmationCode);
  if (airgapKey === null) {
    throw new RequestError(
      'airgap_key_not_configured',
      "Confirmation codes cannot be verified. Set airgap.publicKey to the vendor's key: the page asks for " +
        'it at "Add a license".',
    );
  }
  if (vendorKeys.length === 0 && !options.acceptUnsignedPolicies) {
    throw new RequestError('offline_key_not_configured', `Policy ${NO_KEY}`);
  }
  const code = readConfirmationCode(typed);
  const hardwareId = await identity.readHardwareId();
  const isConfirmed = isConfirmationCode(airgapKey, { hardwareId, licenseKey, policyId }, code);
  const file = readOrReject(policy, 'policy', vendorKeys);
  const facts: FileFacts = {
    kind: 'airgap',
    isSigned: file.isSigned || options.acceptUnsignedPolicies,
    boundTo: null,
    requestId: null,
    issuedAt: file.issuedAt,
    isConfirmed,
    licenseKey,
    policyId,
    confirmationId: hashCode(code),
  };
  const bound = { hardwareId, isIdChosen: await identity.isChosen() };
  return take(options, file, { source: 'airgap', bound, facts, by });
}

function readConfirmationCode(typed: string): string {
  const read = readTypedCode(typed, SIGNED_CODE_BYTES);
  if ('code' in read) return read.code;
  throw new RequestError('airgap_confirmation_invalid', `The confirmation code is mistyped. ${read.fault}`);
}

/** Uses the first half: the second has two valid forms. */
function hashCode(code: string): string {
  return createHash('sha256').update(Buffer.from(code, 'base64').subarray(0, 32)).digest('hex');
}

function needField(name: string, value: string | null): string {
  if (value !== null) return value;
  throw new RequestError('missing_parameters', `"${name}" is missing.`, { field: name });
}
