import { createHash, randomBytes } from 'node:crypto';

/**
 * How an answer of the cloud is bound to one request. The server sends a nonce; the cloud repeats it in the
 * signed body, with what it understood of the request. This reveals replayed answers, answers to other
 * servers, and answers to a request that was changed on its way.
 */
export const NONCE_HEADER = 'Berth-Nonce';

/** What a bound answer repeats, refusals included. */
export interface AnswerBinding {
  readonly nonce: string;
  /** `null` if no license was identified. */
  readonly license_id: number | null;
  /** `null` if the request had none, or was refused before it was read. */
  readonly hardware_id: string | null;
  /** `null` if the request was refused before it was read. */
  readonly request_digest: string | null;
}

/** 128 random bits. */
export function makeNonce(): string {
  return randomBytes(16).toString('hex');
}

/** The nonce of a request; anything else in its place is ignored. */
export function readNonce(header: string | null): string | null {
  return header !== null && /^[0-9a-f]{32}$/i.test(header) ? header : null;
}

/**
 * Covers what was asked: the last word of the path, the body, or the query without its question mark, and the
 * key that is to be certified, if the request names one. The path before it may differ behind a proxy.
 */
export function digestRequest(
  operation: string,
  content: string | Uint8Array,
  keyStatement: string | null = null,
): string {
  const hash = createHash('sha256').update(`${operation}\n`).update(content);
  return (keyStatement === null ? hash : hash.update(`\n${keyStatement}`)).digest('hex');
}

/** Fields that only files have: license files, refreshes and policies. No answer of the cloud has one. */
const FILE_FIELDS = ['date', 'request_id', 'default_license_type', 'license_signature_v2'] as const;

/** Files and answers are signed with one key, so their content must distinguish them. */
export function isFileContent(fields: Readonly<Record<string, unknown>>): boolean {
  return FILE_FIELDS.some((name) => Object.hasOwn(fields, name));
}

/** The reverse: what is bound to a request is an answer, not a file. */
export function isAnswerContent(fields: Readonly<Record<string, unknown>>): boolean {
  return Object.hasOwn(fields, 'nonce');
}
