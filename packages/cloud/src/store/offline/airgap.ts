import type { KeyObject } from 'node:crypto';
import {
  isActivationCode,
  makeConfirmationCode,
  readInitializationCode,
  SIGNED_CODE_BYTES,
} from '@berth/protocol/carried/airgap-codes';
import { readHardwareId, readTypedCode } from '@berth/protocol/carried/typed-code';
import { name } from '@berth/protocol/fields';
import type { Licensed } from '../../core/decision.ts';
import { type License, UNKNOWN_HOST } from '../../core/license.ts';
import { isRefusal, type Refusal, refuse } from '../../core/refusal.ts';
import { type JudgeLicense, refuseWithoutSlots } from '../../core/refuse-for-server.ts';
import { type CloudStore, record, transact } from '../cloud-store.ts';
import { perform } from '../execute.ts';
import { certifyInFile } from '../keys/certificates.ts';
import { generateInitializationCode } from '../keys/generate-keys.ts';
import { getLicense } from '../licenses.ts';
import { toLicense } from '../rows.ts';
import { checkLicense, type FileWriter, type IssuedFile, issueFile } from './license-files.ts';

interface AirgapStart {
  readonly licenseKey: string;
  readonly initializationCode: string;
}

/** Creates a code for the server that will get the license. It replaces an unused one. */
export function startAirgap(
  store: CloudStore,
  key: string,
  now: number,
  judge: JudgeLicense = () => null,
): AirgapStart | Refusal {
  return transact(store, () => {
    const license = getLicense(store, key);
    if (isRefusal(license)) return license;
    const refusal = refuseWithoutSlots(license) ?? judge(license);
    if (refusal !== null) return refusal;
    const initializationCode = generateInitializationCode();
    store.sql.putAirgapStart.run(license.id, initializationCode, now);
    record(store, { kind: 'airgap_started', facts: {} }, license.id, now);
    return { licenseKey: license.key, initializationCode };
  });
}

/** The codes from the server, as the user typed them. */
export interface AirgapCodes {
  readonly key: string;
  readonly hardwareId: string;
  readonly activationCode: string;
}

export interface AirgapAnswer {
  readonly licenseKey: string;
  readonly product: string;
  readonly hardwareId: string;
  readonly policyId: string;
  readonly confirmationCode: string;
  readonly policyFile: string;
  /** When the certificate in it ends; `null`: it has none, because codes do not prove a grant key. */
  readonly certificateEndsAt: number | null;
}

interface AirgapTools {
  readonly airgapKey: KeyObject;
  readonly writer: FileWriter;
}

/** Activates the license for the machine with the code. The same codes return the same response. */
export function confirmAirgap(
  store: CloudStore,
  typed: AirgapCodes,
  tools: AirgapTools,
  now: number,
): AirgapAnswer | Refusal {
  const codes = readCodes(typed);
  if (isRefusal(codes)) return codes;
  return transact(store, () => {
    const row = store.sql.findLicense.get(codes.key);
    const license = row === undefined ? null : toLicense(row);
    const isRight = isRightCode(store, license, codes);
    const answered = license === null ? null : findAnswer(store, license, codes);
    if (answered !== null) return answered;
    if (license !== null && isRight) return confirm(store, license, codes, tools, now);
    // The same refusal if the license does not exist, so that callers cannot probe for keys.
    return refuse(
      'airgap_code_invalid',
      'The activation code does not match the license key, the hardware id and the initialization code. ' +
        'Check each of them; an initialization code works only once.',
    );
  });
}

function readCodes({ key, hardwareId: typedId, activationCode }: AirgapCodes): AirgapCodes | Refusal {
  const hardwareId = readHardwareId(typedId);
  if (typeof hardwareId !== 'string') {
    return refuse('validation_error', `The hardware id is mistyped. ${hardwareId.fault}`);
  }
  const named = name.safeParse(hardwareId);
  if (!named.success || named.data === undefined) {
    return refuse('validation_error', 'The hardware id is not valid. Copy it from "berth status".');
  }
  const read = readTypedCode(activationCode, SIGNED_CODE_BYTES);
  if ('fault' in read) {
    return refuse('airgap_code_invalid', `The activation code is mistyped. ${read.fault}`);
  }
  return { key, hardwareId, activationCode: read.code };
}

/** A dummy that never matches, but takes as long to check as any other. */
const DUMMY_CODE = Buffer.alloc(32, 1).toString('base64');

/** Does the work for unknown licenses too, so that the time reveals nothing. */
function isRightCode({ sql }: CloudStore, license: License | null, codes: AirgapCodes): boolean {
  const row = sql.findAirgapStart.get(license?.id ?? 0);
  const code = row?.initialization_code as string | undefined;
  const key = readInitializationCode(code ?? DUMMY_CODE) as KeyObject;
  const facts = { hardwareId: codes.hardwareId, licenseKey: codes.key };
  return isActivationCode(key, facts, codes.activationCode) && code !== undefined;
}

function findAnswer({ sql }: CloudStore, license: License, codes: AirgapCodes): AirgapAnswer | null {
  const row = sql.findAirgapActivation.get(license.id, codes.hardwareId);
  if (row === undefined || row.activation_code !== codes.activationCode) return null;
  return {
    ...nameAnswer(license, codes.hardwareId),
    confirmationCode: row.confirmation_code as string,
    policyFile: row.policy_file as string,
    certificateEndsAt: row.certificate_ends_at as number | null,
  };
}

/** A license and its policy have the same id. */
function nameAnswer({ id, key, product }: License, hardwareId: string) {
  return { licenseKey: key, product: product.code, hardwareId, policyId: String(id) };
}

function confirm(
  store: CloudStore,
  license: License,
  { hardwareId, activationCode }: AirgapCodes,
  { airgapKey, writer }: AirgapTools,
  now: number,
): AirgapAnswer | Refusal {
  const proof = { kind: 'key', key: license.key } as const;
  const who = { product: license.product.code, hardwareId, licenseId: license.id, proof };
  const outcome = perform(store, { kind: 'activate', who, host: UNKNOWN_HOST }, now);
  if (isRefusal(outcome)) return outcome;
  const issued = issuePolicy(store, outcome as Licensed, writer, now);
  if (isRefusal(issued)) return issued;
  const { file: policyFile, certificateEndsAt } = issued;
  const answer = nameAnswer(license, hardwareId);
  const confirmationCode = makeConfirmationCode(airgapKey, answer);
  const { sql } = store;
  const codes = [activationCode, confirmationCode];
  sql.putAirgapActivation.run(license.id, hardwareId, ...codes, policyFile, certificateEndsAt, now);
  sql.removeAirgapStart.run(license.id);
  const facts = { hardware_id: hardwareId, policy_id: answer.policyId };
  record(store, { kind: 'airgap_confirmed', facts }, license.id, now);
  return { ...answer, confirmationCode, policyFile, certificateEndsAt };
}

function issuePolicy(
  store: CloudStore,
  licensed: Licensed,
  writer: FileWriter,
  now: number,
): IssuedFile | Refusal {
  const issued = certifyInFile(store, licensed, writer, now);
  const write = (dateAt: number, certificates: readonly string[]) =>
    writer.writePolicy(licensed, dateAt, certificates);
  const issue = { what: 'policy', requestId: null, needsSlots: true, issued, write } as const;
  return issueFile(store, licensed, issue, now);
}

interface RenewedPolicy extends IssuedFile {
  readonly policyId: string;
}

/** A newer policy for a license that was activated by codes. */
export function renewPolicy(
  store: CloudStore,
  key: string,
  writer: FileWriter,
  now: number,
): RenewedPolicy | Refusal {
  return transact(store, () => {
    const license = getLicense(store, key);
    if (isRefusal(license)) return license;
    const device = store.sql.findAirgapDevice.get(license.id);
    if (device === undefined) {
      const message = `The license is not activated by codes. Begin with "cloud airgap start ${key}".`;
      return refuse('device_not_found', message);
    }
    const licensed = checkLicense(store, license, device.hardware_id as string, now);
    if (isRefusal(licensed)) return licensed;
    const issued = issuePolicy(store, licensed, writer, now);
    return isRefusal(issued) ? issued : { ...issued, policyId: String(license.id) };
  });
}
