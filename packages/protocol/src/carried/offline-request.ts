import { createHmac, createPublicKey, type KeyObject, sign, timingSafeEqual, verify } from 'node:crypto';
import { z } from 'zod';
import type { CloudKeys } from '../cloud/cloud-authorization.ts';
import { hostText, name } from '../fields.ts';
import { findMemberText } from '../json-members.ts';
import { parseJsonText } from '../json-text.ts';
import { decodeBase64, decodeBase64Text, encodeBase64 } from './canonical-base64.ts';

export const REQUEST_VERSION = 2;

/** A request of a server without internet to the vendor, in a file that a person carries. */
export interface OfflineRequest {
  readonly request: 'activation' | 'deactivation';
  readonly requestId: string;
  readonly product: string | null;
  readonly licenseKey: string | null;
  /** The user, if licenses are issued to users. */
  readonly username: string | null;
  readonly hardwareId: string;
  /** ISO 8601, UTC. */
  readonly date: string;
  /** The server's public key as base64 of its DER form; it verifies the server's usage files. */
  readonly serverKey: string;
  /** The public key of its grants (`x` of the JWK), which the vendor certifies; left out by older servers. */
  readonly grantKey?: string;
  readonly hostname: string;
  readonly appVersion: string;
  /** The consumption so far, for a deactivation: see `usage-file.ts`. `null` if not included. */
  readonly usage: unknown;
}

/** What a request is signed with: the cloud keys, or else only the server key. */
export type RequestSigner =
  | { readonly kind: 'cloud-keys'; readonly keys: CloudKeys }
  | { readonly kind: 'server'; readonly privateKey: KeyObject };

/** The file: base64 of a JSON object with the request and a signature over its JSON text. */
export function writeOfflineRequest(request: OfflineRequest, signer: RequestSigner): string {
  const fields = describe(request, signer);
  const text = JSON.stringify(fields);
  const signature =
    signer.kind === 'cloud-keys'
      ? hmac(signer.keys.sharedKey, text)
      : sign(null, Buffer.from(text), signer.privateKey).toString('base64');
  return encodeBase64(`{"request":${text},"signature":${JSON.stringify(signature)}}`);
}

function describe(request: OfflineRequest, signer: RequestSigner): Readonly<Record<string, unknown>> {
  const { product, licenseKey, username, hardwareId, date } = request;
  const keyFields = signer.kind === 'cloud-keys' ? describeKeys(request, signer.keys) : {};
  return {
    request: request.request,
    schema_version: REQUEST_VERSION,
    request_id: request.requestId,
    ...(product === null ? {} : { product }),
    ...(licenseKey === null ? {} : { license_key: licenseKey }),
    ...(username === null ? {} : { username }),
    hardware_id: hardwareId,
    date,
    ...keyFields,
    server_key: request.serverKey,
    ...(request.grantKey === undefined ? {} : { grant_key: request.grantKey }),
    hostname: request.hostname,
    app_ver: request.appVersion,
    ...(request.usage === null ? {} : { usage: request.usage }),
  };
}

function describeKeys(request: OfflineRequest, { apiKey, sharedKey }: CloudKeys) {
  const { date, licenseKey, username, hardwareId } = request;
  const text = innerText({ date, whose: licenseKey ?? username ?? '', hardwareId, apiKey });
  return { api_key: apiKey, signature: hmac(sharedKey, text) };
}

/** What the inner signature of a request covers; the prefix is part of the protocol. */
function innerText(of: { date: string; whose: string; hardwareId: string; apiKey: string }): string {
  return `licenseSpring\ndate: ${of.date}\n${of.whose}\n${of.hardwareId}\n${of.apiKey}`;
}

function hmac(key: string, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64');
}

/** Names are as strict as in network requests, because they are stored in the same places. */
const schema = z.object({
  request: z.object({
    request: z.enum(['activation', 'deactivation']),
    schema_version: z.literal(REQUEST_VERSION),
    request_id: z.uuid(),
    product: name,
    license_key: name,
    username: name,
    hardware_id: name.pipe(z.string()),
    date: z.string().max(64),
    api_key: z.string().max(512).nullish(),
    signature: z.string().max(1024).nullish(),
    server_key: z.string().max(512).nullish(),
    grant_key: z.string().max(64).nullish(),
    hostname: hostText,
    app_ver: hostText,
    usage: z.unknown().optional(),
  }),
  signature: z.string().max(1024),
});

export interface ReadRequest {
  readonly fields: z.output<typeof schema>['request'];
  /** The request's JSON text, which is what was signed. */
  readonly text: string;
  readonly signature: string;
}

/** Parses the file; `null` if it is not a request. The functions below verify its signature. */
export function readOfflineRequest(file: string): ReadRequest | null {
  const text = decodeBase64Text(file.trim());
  if (text === null) return null;
  try {
    const parsed = schema.safeParse(parseJsonText(text));
    if (!parsed.success) return null;
    return {
      fields: parsed.data.request,
      text: findMemberText(text, 'request') as string,
      signature: parsed.data.signature,
    };
  } catch {
    return null;
  }
}

/** Both signatures must be valid: the one over the request, and the one inside it. */
export function isSignedWithKeys({ fields, text, signature }: ReadRequest, sharedKey: string): boolean {
  const { date, license_key, username, hardware_id: hardwareId, api_key } = fields;
  const inner = innerText({ date, whose: license_key ?? username ?? '', hardwareId, apiKey: api_key ?? '' });
  const isOuter = isHmac(sharedKey, text, signature);
  return isHmac(sharedKey, inner, fields.signature ?? '') && isOuter;
}

function isHmac(key: string, text: string, signature: string): boolean {
  const expected = Buffer.from(hmac(key, text));
  const given = Buffer.from(signature);
  return expected.length === given.length && timingSafeEqual(expected, given);
}

/** Whether the text was signed with the private half of this key (Ed25519, base64 of DER). */
export function isSignedByServer(serverKey: string, text: string, signature: string): boolean {
  const bytes = decodeBase64(signature);
  const der = decodeBase64(serverKey);
  if (bytes === null || der === null) return false;
  try {
    const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
    return key.asymmetricKeyType === 'ed25519' && verify(null, Buffer.from(text), key, bytes);
  } catch {
    return false;
  }
}
