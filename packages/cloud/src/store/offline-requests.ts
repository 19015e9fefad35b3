import { createHash } from 'node:crypto';
import type { ReadRequest } from '@berth/protocol/offline-request';
import { type Usage, usage as usageShape } from '@berth/protocol/usage-file';
import type { Identity } from '../core/command.ts';
import type { Licensed } from '../core/decision.ts';
import { judgeRepeat, judgeServerKey, type SeenRequest } from '../core/judge-request.ts';
import { type HostFacts, UNKNOWN_HOST } from '../core/license.ts';
import { isRefusal, type Refusal, refuse } from '../core/refusal.ts';
import { perform } from './execute.ts';
import { type FileWriter, type IssuedFile, issueFile } from './license-files.ts';
import { findServerKey, learnServerKey } from './server-keys.ts';
import { record, type Shelf, transact } from './shelf.ts';
import { type CountedUsage, countUsage } from './usage.ts';
import { type Voucher, verifyRequest } from './verify-request.ts';

/** A request of a server without internet, and the license key that came with it. */
export interface CarriedRequest {
  readonly request: ReadRequest;
  /** For requests that name no license; `null`: nothing was said. */
  readonly key: string | null;
}

export interface AnsweredActivation extends IssuedFile {
  readonly requestId: string;
}

export interface AnsweredDeactivation {
  readonly requestId: string;
  readonly licenseKey: string;
  readonly product: string;
  readonly hardwareId: string;
  /** What was counted first; `null` when the request told nothing. */
  readonly usage: CountedUsage | null;
}

/** Activates the license for the machine that asks, and writes the file that tells it so. */
export function answerActivation(
  shelf: Shelf,
  carried: CarriedRequest,
  writer: FileWriter,
  now: number,
): AnsweredActivation | Refusal {
  return answerOnce(shelf, carried, now, (who) => {
    const { fields } = carried.request;
    const { request_id: requestId } = fields;
    const outcome = perform(shelf, { kind: 'activate', who, host: readHost(fields) }, now);
    if (isRefusal(outcome)) return outcome;
    const licensed = outcome as Licensed;
    const write = (dateAt: number) => writer.writeAnswer(licensed, requestId, dateAt);
    return { ...issueFile(shelf, licensed, { what: 'answer', requestId, write }, now), requestId };
  });
}

/** Counts what the machine tells, and then takes the license from it. */
export function answerDeactivation(
  shelf: Shelf,
  carried: CarriedRequest,
  now: number,
): AnsweredDeactivation | Refusal {
  return answerOnce(shelf, carried, now, (who) => {
    const { fields } = carried.request;
    const told = readUsage(fields);
    const counted =
      told === null || isRefusal(told) ? told : countUsage(shelf, about(told, who.proof.key), now);
    // Amounts are those of all times: a newer file has told these, too.
    const usage = isRefusal(counted) && counted.code === 'usage_file_outdated' ? null : counted;
    if (isRefusal(usage)) return usage;
    const outcome = perform(shelf, { kind: 'deactivate', who }, now);
    if (isRefusal(outcome)) return outcome;
    const { product, hardwareId } = who;
    return { requestId: fields.request_id, licenseKey: who.proof.key, product, hardwareId, usage };
  });
}

type Fields = ReadRequest['fields'];
type KeyIdentity = Identity & { readonly proof: { readonly kind: 'key'; readonly key: string } };

/** All in one commit: who vouches, whether it was answered before, the work, and that it is answered now. */
function answerOnce<T extends object>(
  shelf: Shelf,
  carried: CarriedRequest,
  now: number,
  work: (who: KeyIdentity) => T | Refusal,
): T | Refusal {
  return transact(shelf, () => {
    const { request } = carried;
    const voucher = verifyRequest(shelf, request);
    if (voucher !== 'cloud-keys' && voucher !== 'server') return voucher;
    const who = identify(shelf, carried);
    if (isRefusal(who)) return who;
    const asked = { digest: digestOf(request), licenseId: who.licenseId as number };
    // Ids are compared without regard to case, as they are written both ways.
    const id = request.fields.request_id.toLowerCase();
    const row = shelf.sql.findRequest.get(id);
    const verdict = judgeRepeat(toSeen(row), asked);
    if (isRefusal(verdict)) return verdict;
    if (verdict === 'repeat') return JSON.parse(row?.answer as string) as T;
    const stranger = meetServer(shelf, request.fields, voucher, now);
    if (stranger !== null) return stranger;
    const answer = work(who);
    if (isRefusal(answer)) return answer;
    shelf.sql.addRequest.run(id, asked.digest, asked.licenseId, JSON.stringify(answer), now);
    const facts = { request: request.fields.request, request_id: id, hardware_id: who.hardwareId };
    const event = { kind: 'request_answered', facts: { ...facts, signed_by: voucher } } as const;
    record(shelf, event, asked.licenseId, now);
    return answer;
  });
}

function digestOf({ text }: ReadRequest): string {
  return createHash('sha256').update(text).digest('base64');
}

function toSeen(row: Readonly<Record<string, unknown>> | undefined): SeenRequest | null {
  if (row === undefined) return null;
  return { digest: row.digest as string, licenseId: row.license_id as number };
}

/** Which license is meant: by the request's own key, or by the one that came with it. */
function identify({ sql }: Shelf, { request, key: given }: CarriedRequest): KeyIdentity | Refusal {
  const { product: code, license_key: named, hardware_id: hardwareId } = request.fields;
  if (named !== undefined && given !== null && named !== given) {
    return refuse('validation_error', 'The request names another license key than the one that was given.');
  }
  const key = named ?? given;
  if (key === null) {
    return refuse('missing_parameters', 'The request names no license. Say which one by its license key.');
  }
  if (code !== undefined && sql.findProduct.get(code) === undefined) {
    return refuse('unknown_product', `There is no product "${code}" here.`);
  }
  const row = sql.findLicense.get(key);
  if (row === undefined || (code !== undefined && code !== row.code)) {
    const what = code === undefined ? 'license' : `license of the product "${code}"`;
    return refuse('license_not_found', `There is no such ${what}.`);
  }
  const proof = { kind: 'key', key } as const;
  return { product: row.code as string, hardwareId, licenseId: row.id as number, proof };
}

/** The key by which the machine is known from here on. */
function meetServer(shelf: Shelf, fields: Fields, voucher: Voucher, now: number): Refusal | null {
  const { hardware_id: hardwareId } = fields;
  const claimed = fields.server_key ?? null;
  const verdict = judgeServerKey({
    hardwareId,
    claimed,
    known: findServerKey(shelf, hardwareId),
    isVouched: voucher === 'cloud-keys',
    hasLicense: shelf.sql.findMachine.get(hardwareId) !== undefined,
  });
  if (isRefusal(verdict)) return verdict;
  if (verdict === 'learn' && claimed !== null) learnServerKey(shelf, hardwareId, claimed, now);
  return null;
}

/** The usage inside of a request needs no signature of its own, but has to be that of its server. */
function readUsage({ usage, hardware_id, server_key }: Fields): Usage | Refusal | null {
  if (usage === undefined || usage === null) return null;
  const { data } = usageShape.safeParse(usage);
  if (data === undefined) return refuse('usage_file_invalid', 'The usage in the request cannot be read.');
  if (data.hardware_id === hardware_id && data.server_key === server_key) return data;
  return refuse('usage_file_invalid', 'The usage in the request is that of another server.');
}

function readHost({ hostname, app_ver: appVersion }: Fields): HostFacts {
  return {
    ...UNKNOWN_HOST,
    hostname: hostname ?? null,
    appVersion: appVersion ?? null,
  };
}

/** What is told about other licenses is left to the next usage file: it must not keep this one here. */
function about(usage: Usage, key: string): Usage {
  return { ...usage, licenses: usage.licenses.filter(({ license_key }) => license_key === key) };
}
