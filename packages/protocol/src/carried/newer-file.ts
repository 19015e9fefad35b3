import { z } from 'zod';
import { parseJsonText } from '../json-text.ts';
import { decodeBase64Text } from './canonical-base64.ts';
import { REQUEST_VERSION } from './offline-request.ts';
import { USAGE_VERSION } from './usage-file.ts';

const above = (known: number) => z.object({ schema_version: z.int().gt(known) });
const newer = z.union([
  z.object({ request: above(REQUEST_VERSION) }),
  z.object({ usage: above(USAGE_VERSION) }),
]);

/** Whether a request or usage that cannot be read was made by a newer Berth. */
export function isNewer(content: unknown): boolean {
  return newer.safeParse(content).success;
}

/** The same for a file. */
export function isNewerFile(file: string): boolean {
  try {
    return isNewer(parseJsonText(decodeBase64Text(file.trim()) ?? ''));
  } catch {
    return false;
  }
}
