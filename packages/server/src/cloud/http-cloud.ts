import type { KeyObject } from 'node:crypto';
import {
  CERTIFICATE_PROOF_HEADER,
  type CertificateRequest,
  proveCertificateRequest,
} from '@berth/protocol/cloud/certificate-proof';
import { authorizationHeader, type CloudKeys } from '@berth/protocol/cloud/cloud-authorization';
import { digestRequest, makeNonce, NONCE_HEADER } from '@berth/protocol/cloud/cloud-binding';
import {
  type CloudLicense,
  cloudError,
  cloudLicense,
  reportAnswer,
} from '@berth/protocol/cloud/cloud-license';
import { DEACTIVATED_TEXT, deactivatedAnswer, SYNC_EVENT } from '@berth/protocol/cloud/cloud-requests';
import { isSignedByOne, SIGNATURE_HEADER } from '@berth/protocol/cloud/vendor-signature';
import { KEY_STATEMENT_HEADER } from '@berth/protocol/grant/key-statement';
import { parseJsonText } from '@berth/protocol/json-text';
import type { z } from 'zod';
import {
  type Cloud,
  CloudFault,
  type CloudHost,
  type CloudRefusal,
  type CloudReply,
  type Counted,
  type Identification,
  KEY_REFUSALS,
  notSigned,
  type ReportedAmount,
  type Vouched,
  WrongCertificate,
} from './cloud.ts';
import { type CloudResponse, exchange } from './exchange.ts';
import {
  coversMachine,
  type Fields,
  fieldsOf,
  isAboutLicense,
  isBoundTo,
  type Question,
  rejectFile,
  requireNamed,
} from './judge-answer.ts';
import { readServerCertificates, readVendorLicense } from './vendor-license.ts';

export interface HttpCloudOptions {
  /** The URL of the cloud, without `/api/v4`. */
  readonly url: string;
  /** The answer must be signed with one of them. */
  readonly publicKeys: readonly KeyObject[];
  /** For a whole request, including the last byte of the answer. */
  readonly timeoutMs: number;
  /** Aborts all requests when the server stops. */
  readonly signal: AbortSignal;
  /** The wall clock in milliseconds. */
  readonly readWall: () => number;
  /** Told with every answer how far the cloud's clock is ahead of this machine's. */
  readonly onClock?: (aheadMs: number) => void;
}

/** The licensing cloud over HTTP. */
export function createHttpCloud(options: HttpCloudOptions): Cloud {
  const post = (keys: CloudKeys, operation: string, meant: Identification, more: Fields = {}) =>
    call(options, keys, { operation, meant, body: JSON.stringify({ ...identify(meant), ...more }) });
  const check = async (keys: CloudKeys, meant: Identification) =>
    vouch(await get(keys, 'check_license', meant), options);
  const get = (keys: CloudKeys, operation: string, meant: Identification | null) =>
    call(options, keys, { operation, meant, query: meant === null ? '' : queryText(identify(meant)) });
  return {
    activate: async (keys, meant, host) =>
      vouch(await post(keys, 'activate_license', { ...meant, sendsId: false }, describeHost(host)), options),
    async check(keys, meant) {
      const reply = await check(keys, meant);
      // Whether the cloud knows the key, though not by this id: then it answers for the license of the key.
      const mayBeOther = reply.kind === 'refused' && reply.code === 'license_not_found' && meant.sendsId;
      return mayBeOther ? check(keys, { ...meant, sendsId: false }) : reply;
    },
    deactivate: async (keys, meant) =>
      readDeactivated(await post(keys, 'deactivate_license', meant), options),
    report: async (keys, meant, amount) => {
      const operation = amount.feature === null ? 'add_consumption' : 'add_feature_consumption';
      return readCounted(await post(keys, operation, meant, describeAmount(amount)), options, amount);
    },
    probe: async (keys) => readProbe(await get(keys, 'product_details', null), options),
  };
}

function queryText(fields: Fields): string {
  const given = Object.entries(fields).map(([name, value]): [string, string] => [name, String(value)]);
  return `${new URLSearchParams(given)}`;
}

function identify({ hardwareId, product, holder, licenseId, sendsId = false }: Identification): Fields {
  const id = sendsId ? { license_id: licenseId } : {};
  const common = { hardware_id: hardwareId, product, ...id };
  if ('licenseKey' in holder) return { ...common, license_key: holder.licenseKey };
  const { username, password } = holder;
  return { ...common, username, ...(password === null ? {} : { password }) };
}

function describeHost({ hostname, osVersion, ip, version }: CloudHost): Fields {
  const address = ip === null ? {} : { ip };
  return { hostname, ...address, os_ver: osVersion, app_ver: version, sdk_ver: `berth ${version}` };
}

/** The event says that the amount was already used, on a floating server. */
function describeAmount({ feature, amount, reportId }: ReportedAmount): Fields {
  const counted = { consumptions: amount, event: [SYNC_EVENT], report_id: reportId };
  return feature === null ? counted : { feature, ...counted };
}

interface Call {
  readonly operation: string;
  readonly meant: Identification | null;
  /** The query of a `GET`; a call without one is a `POST`. */
  readonly query?: string;
  readonly body?: string;
}

function withoutEndingSlashes(url: string): string {
  return url.endsWith('/') ? withoutEndingSlashes(url.slice(0, -1)) : url;
}

/** An answer and its request. */
interface Answered extends CloudResponse {
  readonly question: Question;
}

async function call(options: HttpCloudOptions, keys: CloudKeys, question: Call): Promise<Answered> {
  const { operation, meant, query = '', body = null } = question;
  const date = new Date(options.readWall()).toUTCString();
  const nonce = makeNonce();
  const requestDigest = digestRequest(operation, body ?? query, meant?.keyStatement?.text);
  const response = await exchange({
    url: `${withoutEndingSlashes(options.url)}/api/v4/${operation}${query === '' ? '' : `?${query}`}`,
    method: body === null ? 'GET' : 'POST',
    headers: {
      date,
      authorization: authorizationHeader(keys, date),
      accept: 'application/json',
      [NONCE_HEADER]: nonce,
      ...askForCertificate(keys, meant, { date, nonce, requestDigest }),
      ...(body === null ? {} : { 'content-type': 'application/json' }),
    },
    body,
    timeoutMs: options.timeoutMs,
    signal: options.signal,
  });
  const cloudAt = Date.parse(response.headers.get('date') ?? '');
  if (!Number.isNaN(cloudAt)) options.onClock?.(cloudAt - options.readWall());
  return { ...response, question: { nonce, requestDigest, meant } };
}

/** The other signature covers only the date, so the cloud certifies no key without this proof. */
function askForCertificate(
  { sharedKey }: CloudKeys,
  meant: Identification | null,
  request: Pick<CertificateRequest, 'date' | 'nonce' | 'requestDigest'>,
): Record<string, string> {
  if (meant?.keyStatement === undefined) return {};
  const { hardwareId, keyStatement } = meant;
  const asked = { ...request, hardwareId, keyStatement: keyStatement.text };
  return {
    [KEY_STATEMENT_HEADER]: keyStatement.text,
    [CERTIFICATE_PROOF_HEADER]: proveCertificateRequest(sharedKey, asked),
  };
}

function isSigned({ bytes, headers }: CloudResponse, { publicKeys }: HttpCloudOptions): boolean {
  const signature = headers.get(SIGNATURE_HEADER);
  return signature !== null && isSignedByOne(publicKeys, bytes, signature);
}

/** From here on the cloud has answered: even if the answer is invalid, it may have executed the request. */
function fault(reason: 'not_understood', message: string, cause?: unknown): CloudFault {
  return new CloudFault(reason, message, { mayHaveArrived: true, cause });
}

function requireSigned(answered: Answered, options: HttpCloudOptions): void {
  if (!isSigned(answered, options)) throw notSigned();
}

interface Understood<T> {
  readonly kind: 'ok';
  readonly value: T;
  readonly isBound: boolean;
  /** As they were sent. */
  readonly fields: Fields;
}

/** A signed answer of the expected shape, bound to this request if the cloud supports it; or a refusal. */
function readSigned<S extends z.ZodType>(
  answered: Answered,
  options: HttpCloudOptions,
  schema: S,
): Understood<z.output<S>> | CloudRefusal {
  if (answered.status !== 200) return readRefusal(answered, options);
  requireSigned(answered, options);
  const content = parseAnswer(answered);
  const fields = fieldsOf(content);
  rejectFile(fields);
  rejectWrongCertificate(answered.question, fields, options.publicKeys);
  const isBound = isBoundTo(answered.question, fields);
  if (isBound) requireNamed(answered.question, fields);
  const parsed = schema.safeParse(content);
  if (parsed.success) return { kind: 'ok', value: parsed.data, isBound, fields };
  const issue = parsed.error.issues[0];
  const what = `"${issue?.path.join('.')}" ${issue?.message}`;
  throw fault('not_understood', `The licensing cloud sent an invalid answer: ${what}.`);
}

function parseAnswer({ bytes }: CloudResponse): unknown {
  try {
    return parseJsonText(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw fault('not_understood', 'The answer of the licensing cloud is not JSON.', cause);
  }
}

/** Messages go to logs and terminals, whoever sent them. */
const LONGEST_CODE = 64;
const LONGEST_MESSAGE = 300;

function plain(text: string, longest: number): string {
  return text.replace(/\p{Cc}/gu, ' ').slice(0, longest);
}

/**
 * The HTTP status is not signed, the one in the body is. If they differ, someone may have turned a good
 * answer into a refusal, so the signature proves nothing.
 */
function readRefusal(answered: Answered, options: HttpCloudOptions): CloudRefusal {
  const { status, question } = answered;
  const content = status >= 400 && status < 500 ? parseAnswer(answered) : null;
  const error = cloudError.safeParse(content);
  if (!error.success || status === 404) {
    throw fault(
      'not_understood',
      `The licensing cloud answered with unexpected status ${status}. Check cloud.url.`,
    );
  }
  const fields = fieldsOf(content);
  const isVendors = isSigned(answered, options) && fields.status === status;
  return {
    kind: 'refused',
    code: plain(error.data.code, LONGEST_CODE),
    message: plain(error.data.message, LONGEST_MESSAGE),
    isSigned: isVendors,
    isBound: isVendors && isBoundTo(question, fields),
    isAboutLicense: isVendors && isAboutLicense(question, fields, options.publicKeys),
  };
}

function vouch(answered: Answered, options: HttpCloudOptions): CloudReply<Vouched> {
  const reply = readSigned(answered, options, cloudLicense);
  if (reply.kind === 'refused') return reply;
  const { value, isBound, fields } = reply;
  const { question } = answered;
  if (question.meant === null || !isMeant(value, question.meant)) {
    throw fault('not_understood', 'The licensing cloud answered with a different license than requested.');
  }
  if (!coversMachine(question, fields, options.publicKeys)) {
    throw fault(
      'not_understood',
      'The license in the answer of the licensing cloud is not signed for the hardware id of this server.',
    );
  }
  const certificates = readServerCertificates(fields, options.publicKeys);
  return { kind: 'ok', value: { ...readVendorLicense(value), certificates }, isBound };
}

/** Before the digest is compared: a key that was put in place of ours says more than a changed request. */
function rejectWrongCertificate(
  { meant, nonce }: Question,
  fields: Fields,
  keys: readonly KeyObject[],
): void {
  if (meant?.keyStatement === undefined || (fields.nonce ?? nonce) !== nonce) return;
  const { kid } = meant.keyStatement;
  const wrong = readServerCertificates(fields, keys).find((one) => one.kid !== kid);
  if (wrong !== undefined) throw new WrongCertificate(wrong);
}

/** A genuine answer to another request does not answer this one. */
function isMeant(license: CloudLicense, { product, holder }: Identification): boolean {
  const { product_details: details, license_key: key } = license;
  if (details.short_code !== product) return false;
  // A key may be typed in a different case than the vendor's.
  return !('licenseKey' in holder) || key === '' || key.toLowerCase() === holder.licenseKey.toLowerCase();
}

function readCounted(
  answered: Answered,
  options: HttpCloudOptions,
  { reportId }: ReportedAmount,
): CloudReply<Counted> {
  const reply = readSigned(answered, options, reportAnswer);
  if (reply.kind === 'refused') return reply;
  const { total_consumptions: total, report_id: echoed } = reply.value;
  if (typeof echoed === 'string' && echoed !== reportId) {
    throw fault('not_understood', 'The licensing cloud answered for a different report than was sent.');
  }
  return { kind: 'ok', value: { total, knowsReportIds: echoed === reportId }, isBound: reply.isBound };
}

/** A cloud with nonces answers in JSON; others with a bare word, which cannot be bound to a request. */
function readDeactivated(answered: Answered, options: HttpCloudOptions): CloudReply<null> {
  if (answered.status !== 200) return readRefusal(answered, options);
  requireSigned(answered, options);
  const text = Buffer.from(answered.bytes).toString('utf8').trim().replaceAll('"', '');
  if (text === DEACTIVATED_TEXT) return { kind: 'ok', value: null, isBound: false };
  const reply = readSigned(answered, options, deactivatedAnswer);
  return reply.kind === 'refused' ? reply : { kind: 'ok', value: null, isBound: reply.isBound };
}

/** For a request without a product, a cloud that accepts the keys complains about the product. */
function readProbe(answered: Answered, options: HttpCloudOptions): CloudReply<null> {
  if (answered.status !== 200) {
    const refusal = readRefusal(answered, options);
    return KEY_REFUSALS.has(refusal.code) ? refusal : acceptProbe(refusal);
  }
  const signed = isSigned(answered, options);
  const isBound = signed && isBoundTo(answered.question, fieldsOf(parseAnswer(answered)));
  return acceptProbe({ isSigned: signed, isBound });
}

function acceptProbe({ isSigned, isBound }: Pick<CloudRefusal, 'isSigned' | 'isBound'>): CloudReply<null> {
  return { kind: 'ok', value: null, isBound, ...(isSigned ? {} : { isSigned }) };
}
