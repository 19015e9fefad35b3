import type { KeyObject } from 'node:crypto';
import { authorizationHeader, type CloudKeys } from '@berth/protocol/cloud-authorization';
import { type CloudLicense, cloudError, cloudLicense, reportAnswer } from '@berth/protocol/cloud-license';
import { DEACTIVATED_TEXT, SYNC_EVENT } from '@berth/protocol/cloud-requests';
import { parseJsonText } from '@berth/protocol/json-text';
import { isSignedBy, SIGNATURE_HEADER } from '@berth/protocol/vendor-signature';
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
  type ReportedAmount,
  type Vouched,
} from './cloud.ts';
import { type CloudResponse, exchange } from './exchange.ts';
import { readVendorLicense } from './vendor-license.ts';

export interface HttpCloudOptions {
  /** Where the cloud is, without `/api/v4`. */
  readonly url: string;
  readonly publicKey: KeyObject;
  /** For a whole exchange, the last byte of the answer included. */
  readonly timeoutMs: number;
  /** Cuts everything off when the server stops. */
  readonly signal: AbortSignal;
  /** What the machine believes the date to be, in milliseconds. */
  readonly readWall: () => number;
}

/** The licensing cloud over HTTP. */
export function createHttpCloud(options: HttpCloudOptions): Cloud {
  const post = (keys: CloudKeys, operation: string, fields: Fields) =>
    call(options, keys, { method: 'POST', operation, body: JSON.stringify(fields) });
  const get = (keys: CloudKeys, operation: string, fields: Fields) =>
    call(options, keys, { method: 'GET', operation: `${operation}${queryText(fields)}`, body: null });
  return {
    activate: async (keys, identification, host) => {
      const fields = { ...identify(identification), ...describeHost(host) };
      return vouch(await post(keys, 'activate_license', fields), options, identification);
    },
    check: async (keys, identification) =>
      vouch(await get(keys, 'check_license', identify(identification)), options, identification),
    deactivate: async (keys, identification) =>
      readDeactivated(await post(keys, 'deactivate_license', identify(identification)), options),
    report: async (keys, identification, amount) => {
      const operation = amount.feature === null ? 'add_consumption' : 'add_feature_consumption';
      const fields = { ...identify(identification), ...describeAmount(amount) };
      return readCounted(await post(keys, operation, fields), options, amount);
    },
    probe: async (keys) => readProbe(await get(keys, 'product_details', {}), options),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function queryText(fields: Fields): string {
  const given = Object.entries(fields).map(([name, value]): [string, string] => [name, String(value)]);
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}

function identify({ hardwareId, product, holder }: Identification): Fields {
  const common = { hardware_id: hardwareId, product };
  if ('licenseKey' in holder) return { ...common, license_key: holder.licenseKey };
  const { username, password } = holder;
  return { ...common, username, ...(password === null ? {} : { password }) };
}

function describeHost({ hostname, osVersion, version }: CloudHost): Fields {
  return { hostname, os_ver: osVersion, app_ver: version, sdk_ver: `berth ${version}` };
}

/** The event says that the amount was used already, on a floating server. */
function describeAmount({ feature, amount, reportId }: ReportedAmount): Fields {
  const counted = { consumptions: amount, event: [SYNC_EVENT], report_id: reportId };
  return feature === null ? counted : { feature, ...counted };
}

interface Call {
  readonly method: 'GET' | 'POST';
  /** The operation, with its query. */
  readonly operation: string;
  readonly body: string | null;
}

function withoutEndingSlashes(url: string): string {
  return url.endsWith('/') ? withoutEndingSlashes(url.slice(0, -1)) : url;
}

function call(options: HttpCloudOptions, keys: CloudKeys, { method, operation, body }: Call) {
  const date = new Date(options.readWall()).toUTCString();
  return exchange({
    url: `${withoutEndingSlashes(options.url)}/api/v4/${operation}`,
    method,
    headers: {
      date,
      authorization: authorizationHeader(keys, date),
      accept: 'application/json',
      ...(body === null ? {} : { 'content-type': 'application/json' }),
    },
    body,
    timeoutMs: options.timeoutMs,
    signal: options.signal,
  });
}

function isSigned({ bytes, headers }: CloudResponse, { publicKey }: HttpCloudOptions): boolean {
  const signature = headers.get(SIGNATURE_HEADER);
  return signature !== null && isSignedBy(publicKey, bytes, signature);
}

/** From here on the cloud has answered: whatever is wrong, it may have done what it was asked for. */
function fault(reason: 'not_signed' | 'not_understood', message: string, cause?: unknown): CloudFault {
  return new CloudFault(reason, message, { mayHaveArrived: true, cause });
}

/** A signed answer of the expected shape, or a refusal. */
function readSigned<S extends z.ZodType>(
  response: CloudResponse,
  options: HttpCloudOptions,
  schema: S,
): CloudReply<z.output<S>> {
  if (response.status !== 200) return readRefusal(response, options);
  if (!isSigned(response, options)) {
    throw fault(
      'not_signed',
      'The licensing cloud answered without a valid signature. Does cloud.publicKey belong to cloud.url?',
    );
  }
  const parsed = schema.safeParse(parseAnswer(response));
  if (parsed.success) return { kind: 'ok', value: parsed.data };
  const issue = parsed.error.issues[0];
  const what = `"${issue?.path.join('.')}" ${issue?.message}`;
  throw fault('not_understood', `The licensing cloud sent something that Berth does not take: ${what}.`);
}

function parseAnswer({ bytes }: CloudResponse): unknown {
  try {
    return parseJsonText(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw fault('not_understood', 'The licensing cloud answered with something that is no JSON.', cause);
  }
}

/** Whoever answers, what they say goes to logs and terminals. */
const LONGEST_CODE = 64;
const LONGEST_MESSAGE = 300;

function plain(text: string, longest: number): string {
  return text.replace(/\p{Cc}/gu, ' ').slice(0, longest);
}

function readRefusal(response: CloudResponse, options: HttpCloudOptions): CloudRefusal {
  const { status } = response;
  const error = status >= 400 && status < 500 ? cloudError.safeParse(parseAnswer(response)) : null;
  if (error?.success !== true || status === 404) {
    throw fault(
      'not_understood',
      `The licensing cloud answered with status ${status}, which is not how one answers. Is cloud.url right?`,
    );
  }
  return {
    kind: 'refused',
    code: plain(error.data.code, LONGEST_CODE),
    message: plain(error.data.message, LONGEST_MESSAGE),
    isSigned: isSigned(response, options),
  };
}

function vouch(
  response: CloudResponse,
  options: HttpCloudOptions,
  meant: Identification,
): CloudReply<Vouched> {
  const reply = readSigned(response, options, cloudLicense);
  if (reply.kind === 'refused') return reply;
  if (!isMeant(reply.value, meant)) {
    throw fault('not_understood', 'The licensing cloud answered with another license than was asked for.');
  }
  return { kind: 'ok', value: readVendorLicense(reply.value) };
}

/** A genuine answer to another question is not an answer to this one. */
function isMeant(license: CloudLicense, { product, hardwareId, holder }: Identification): boolean {
  const { product_details: details, hardware_id: boundTo, license_key: key } = license;
  if (details.short_code !== product || (boundTo ?? hardwareId) !== hardwareId) return false;
  // A key may be typed in another case than the vendor writes it.
  return !('licenseKey' in holder) || key === '' || key.toLowerCase() === holder.licenseKey.toLowerCase();
}

function readCounted(
  response: CloudResponse,
  options: HttpCloudOptions,
  { reportId }: ReportedAmount,
): CloudReply<Counted> {
  const reply = readSigned(response, options, reportAnswer);
  if (reply.kind === 'refused') return reply;
  const { total_consumptions: total, report_id: echoed } = reply.value;
  if (typeof echoed === 'string' && echoed !== reportId) {
    throw fault('not_understood', 'The licensing cloud answered about another report than was sent.');
  }
  return { kind: 'ok', value: { total, knowsReportIds: echoed === reportId } };
}

function readDeactivated(response: CloudResponse, options: HttpCloudOptions): CloudReply<null> {
  if (response.status !== 200) return readRefusal(response, options);
  const text = Buffer.from(response.bytes).toString('utf8').trim().replaceAll('"', '');
  if (text === DEACTIVATED_TEXT) return { kind: 'ok', value: null };
  throw fault('not_understood', 'The licensing cloud answered the deactivation with something else.');
}

/** Asked without a product, a cloud that takes the keys complains about the product. */
function readProbe(response: CloudResponse, options: HttpCloudOptions): CloudReply<null> {
  if (response.status === 200) return { kind: 'ok', value: null };
  const refusal = readRefusal(response, options);
  return KEY_REFUSALS.has(refusal.code) ? refusal : { kind: 'ok', value: null };
}
