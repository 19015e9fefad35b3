import { createHash } from 'node:crypto';
import type { ReadRequest } from '@berth/protocol/carried/offline-request';
import { type Usage, usage as usageShape } from '@berth/protocol/carried/usage-file';
import type { Identity } from '../../core/command.ts';
import type { Licensed } from '../../core/decision.ts';
import { judgeRepeat, type SeenRequest } from '../../core/judge-request.ts';
import { type HostFacts, UNKNOWN_HOST } from '../../core/license.ts';
import { isRefusal, type Refusal, refuse } from '../../core/refusal.ts';
import { type CloudStore, record, transact } from '../cloud-store.ts';
import { perform, performOn } from '../execute.ts';
import { certifyInFile } from '../keys/certificates.ts';
import { recordGrantKey } from '../keys/grant-keys.ts';
import { checkServerKey, type SignedFile } from '../keys/server-keys.ts';
import { type SigningParty, verifyRequest } from '../keys/verify-request.ts';
import { release } from '../keys/waiting-keys.ts';
import { type Row, toLicense } from '../rows.ts';
import { type FileWriter, type IssuedFile, issueFile } from './license-files.ts';
import { refuseUsage } from './refuse-unreadable.ts';
import { type CountedUsage, countUsage } from './usage.ts';

/** A request of a server without internet access, and the license key that came with it. */
export interface CarriedRequest {
  readonly request: ReadRequest;
  /** For requests without a license key; `null`: none was given. */
  readonly key: string | null;
  /** The address that submitted it; `null`: the vendor did. */
  readonly from: string | null;
}

interface AnsweredActivation extends IssuedFile {
  readonly requestId: string;
  /** The user named in the request; missing if it names none. */
  readonly username?: string;
}

export interface AnsweredDeactivation {
  readonly requestId: string;
  readonly licenseKey: string;
  readonly product: string;
  readonly hardwareId: string;
  /** The usage that was counted first; `null`: the request contained none. */
  readonly usage: CountedUsage | null;
}

/** Activates the license for the requesting machine and writes the license file. */
export function answerActivation(
  store: CloudStore,
  carried: CarriedRequest,
  writer: FileWriter,
  now: number,
): AnsweredActivation | Refusal {
  return answerOnce(store, carried, now, (who, voucher) => {
    const { fields } = carried.request;
    const { request_id: requestId } = fields;
    // It was identified above, also if the vendor acts for a user.
    const license = toLicense(store.sql.findLicense.get(who.proof.key) as Row);
    const outcome = performOn(store, license, { kind: 'activate', who, host: readHost(fields) }, now);
    if (isRefusal(outcome)) return outcome;
    const licensed = outcome as Licensed;
    // Requests signed with a server key come from servers, others from single machines.
    const isServer = fields.server_key != null;
    if (isServer) store.sql.signDevice.run(who.licenseId, who.hardwareId);
    if (isServer && fields.grant_key != null) {
      const isVouched = voucher.kind === 'cloud-keys';
      recordGrantKey(store, licensed, { x: fields.grant_key, isVouched });
    }
    const issued = isServer ? certifyInFile(store, licensed, writer, now) : null;
    const write = (dateAt: number, certificates: readonly string[]) =>
      writer.writeAnswer(licensed, requestId, dateAt, certificates);
    const issue = { what: 'answer', requestId, needsSlots: isServer, issued, write } as const;
    const file = issueFile(store, licensed, issue, now);
    if (isRefusal(file)) return file;
    const { username } = fields;
    return { ...file, requestId, ...(username === undefined ? {} : { username }) };
  });
}

/** Counts the usage in the request, then deactivates the license on the machine. */
export function answerDeactivation(
  store: CloudStore,
  carried: CarriedRequest,
  now: number,
): AnsweredDeactivation | Refusal {
  return answerOnce(store, carried, now, (who) => {
    const { fields } = carried.request;
    const reported = readUsage(fields);
    const counted =
      reported === null || isRefusal(reported)
        ? reported
        : countUsage(store, about(reported, who.proof.key), now);
    // Amounts are totals since the beginning, so a newer file includes these.
    const usage = isRefusal(counted) && counted.code === 'usage_file_outdated' ? null : counted;
    if (isRefusal(usage)) return usage;
    const outcome = perform(store, { kind: 'deactivate', who }, now);
    if (isRefusal(outcome)) return outcome;
    const { product, hardwareId } = who;
    return { requestId: fields.request_id, licenseKey: who.proof.key, product, hardwareId, usage };
  });
}

type Fields = ReadRequest['fields'];
interface KeyIdentity extends Identity {
  readonly licenseId: number;
  readonly proof: { readonly kind: 'key'; readonly key: string };
}

/**
 * Checks the signature, looks for an earlier reply, does the work and stores the reply in one transaction.
 */
function answerOnce<T extends object>(
  store: CloudStore,
  carried: CarriedRequest,
  now: number,
  work: (who: KeyIdentity, voucher: SigningParty) => T | Refusal,
): T | Refusal {
  const answered = transact(store, () => {
    const { request } = carried;
    const voucher = verifyRequest(store, request);
    if (isRefusal(voucher)) return voucher;
    const key = chooseKey(store, carried);
    if (isRefusal(key)) return key;
    const customer = voucher.kind === 'cloud-keys' ? voucher.customer : null;
    const license = store.sql.findOpenLicense.get({ key, customer });
    // Also for an unknown license: whether an id was used must not reveal which keys exist.
    const asked = { digest: digestOf(request), licenseId: (license?.id as number) ?? 0 };
    // Ids are case-insensitive.
    const id = request.fields.request_id.toLowerCase();
    const row = store.sql.findRequest.get(id);
    const verdict = judgeRepeat(toSeen(row), asked);
    if (isRefusal(verdict)) return verdict;
    if (verdict === 'repeat') return JSON.parse(row?.answer as string) as T;
    const who = identify(store, carried, license);
    if (isRefusal(who)) return who;
    const stranger = checkServerKey(store, describeFile(carried, who, voucher), now);
    if (stranger !== null) return stranger;
    const answer = work(who, voucher);
    if (isRefusal(answer)) return answer;
    store.sql.addRequest.run(id, asked.digest, asked.licenseId, JSON.stringify(answer), now);
    const { request: asks, username } = request.fields;
    const user = username === undefined ? {} : { username };
    const facts = { request: asks, request_id: id, hardware_id: who.hardwareId, ...user };
    const event = { kind: 'request_answered', facts: { ...facts, signed_by: voucher.kind } } as const;
    record(store, event, asked.licenseId, now);
    return answer;
  });
  return release<T | Refusal>(answered);
}

function digestOf({ text }: ReadRequest): string {
  return createHash('sha256').update(text).digest('base64');
}

function toSeen(row: Row | undefined): SeenRequest | null {
  if (row === undefined) return null;
  return { digest: row.digest as string, licenseId: row.license_id as number };
}

/** Finds the license: by the key in the request, by the key that came with it, or by its user. */
function chooseKey(store: CloudStore, carried: CarriedRequest): string | Refusal {
  const { request, key: given } = carried;
  const { license_key: named, username } = request.fields;
  if (named !== undefined && given !== null && named !== given) {
    return refuse('validation_error', 'The request is for a different license key than the one given.');
  }
  const none = 'The request does not name a license. Give its license key.';
  const whose =
    username === undefined ? none : `The request of user "${username}" does not name a license key.`;
  return named ?? given ?? findKeyOfUser(store, carried) ?? refuse('missing_parameters', whose);
}

/** A name proves nothing, so only the vendor may submit a request that uses it. */
function findKeyOfUser({ sql }: CloudStore, { request, from }: CarriedRequest): string | null {
  const { username, product } = request.fields;
  if (from !== null || username === undefined || product === undefined) return null;
  const id = (sql.findProduct.get(product)?.id as number | undefined) ?? null;
  const row = sql.findLicenseByUser.get({ product: id, user: username, customer: null });
  return (row?.license_key as string | undefined) ?? null;
}

function identify(
  { sql }: CloudStore,
  { request: { fields }, from }: CarriedRequest,
  license: Row | undefined,
): KeyIdentity | Refusal {
  const { product, username, hardware_id: hardwareId } = fields;
  const isBack = fields.request === 'deactivation';
  if (license === undefined || (product !== undefined && product !== license.code))
    return refuseUnknown(isBack);
  const licenseId = license.id as number;
  // A user's license needs the password, which no file contains; the vendor does not need it.
  const isUsers = license.user_name !== null && !(from === null && license.user_name === username);
  const isTheirs = isBack ? sql.findDevice.get(licenseId, hardwareId) !== undefined : !isUsers;
  if (!isTheirs) return refuseUnknown(isBack);
  const proof = { kind: 'key', key: license.license_key as string } as const;
  return { product: license.code as string, hardwareId, licenseId, proof };
}

/** The same refusal for every mismatch, so that strangers cannot probe for keys. */
function refuseUnknown(isBack: boolean): Refusal {
  const where = isBack ? ' on this machine' : '';
  return refuse(
    'license_not_found',
    `The license does not exist${where}. Check the license key and the product in the request.`,
  );
}

function describeFile(
  { request, from }: CarriedRequest,
  who: KeyIdentity,
  voucher: SigningParty,
): SignedFile {
  const { request: asks, server_key: serverKey = null, grant_key: grantKey = null } = request.fields;
  const { hardwareId, licenseId } = who;
  const vouchedBy = voucher.kind === 'cloud-keys' ? voucher : null;
  return { asks, hardwareId, serverKey, grantKey, vouchedBy, licenseIds: [licenseId], from };
}

/** Usage inside a request has no separate signature, but must come from the same server. */
function readUsage({ usage, hardware_id, server_key }: Fields): Usage | Refusal | null {
  if (usage === undefined || usage === null) return null;
  const { data } = usageShape.safeParse(usage);
  if (data === undefined) return refuseUsage(usage);
  if (data.hardware_id === hardware_id && data.server_key === server_key) return data;
  return refuse('usage_file_invalid', 'The usage in the request is from another server.');
}

function readHost({ hostname, app_ver: appVersion }: Fields): HostFacts {
  return {
    ...UNKNOWN_HOST,
    hostname: hostname ?? null,
    appVersion: appVersion ?? null,
  };
}

/** Usage of other licenses waits for the next usage file; it must not block this deactivation. */
function about(usage: Usage, key: string): Usage {
  return { ...usage, licenses: usage.licenses.filter(({ license_key }) => license_key === key) };
}
