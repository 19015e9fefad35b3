import { type KeyObject, sign } from 'node:crypto';
import { z } from 'zod';
import { name } from '../fields.ts';
import { findMemberText } from '../json-members.ts';
import { parseJsonText } from '../json-text.ts';
import { decodeBase64Text, encodeBase64 } from './canonical-base64.ts';
import { isSignedByServer } from './offline-request.ts';

export const USAGE_VERSION = 1;

/**
 * The consumption of a server without a cloud, in a file. Its amounts are everything that this server ever
 * counted, so a lost file does no harm, and a file submitted twice counts once: the portal adds what is new.
 * The sequence grows with every file; the portal does not accept an older file.
 */
const amounts = z.object({
  license_id: z.int().positive(),
  license_key: z.string().max(256),
  /** Of the license itself. */
  consumed: z.int(),
  features: z.array(z.object({ code: name.pipe(z.string()), consumed: z.int() })),
});

export const usage = z.object({
  schema_version: z.literal(USAGE_VERSION),
  sequence: z.int().positive(),
  hardware_id: name.pipe(z.string()),
  date: z.string().max(64),
  server_key: z.string().max(512),
  licenses: z.array(amounts),
});

export type Usage = z.output<typeof usage>;

const schema = z.object({ usage, signature: z.string().max(1024) });

export function writeUsageFile(content: Usage, privateKey: KeyObject): string {
  const text = JSON.stringify(content);
  const signature = sign(null, Buffer.from(text), privateKey).toString('base64');
  return encodeBase64(`{"usage":${text},"signature":${JSON.stringify(signature)}}`);
}

export interface ReadUsage {
  readonly usage: Usage;
  /** Whether it is signed with the key that it contains. The caller decides whether that key is known. */
  readonly isSigned: boolean;
}

/** Parses the file; `null` if it is not a usage file. */
export function readUsageFile(file: string): ReadUsage | null {
  const text = decodeBase64Text(file.trim());
  if (text === null) return null;
  try {
    const parsed = schema.safeParse(parseJsonText(text));
    if (!parsed.success) return null;
    const { usage: content, signature } = parsed.data;
    const signedText = findMemberText(text, 'usage') as string;
    return { usage: content, isSigned: isSignedByServer(content.server_key, signedText, signature) };
  } catch {
    return null;
  }
}
