import type { KeyObject } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { readAirgapPublicKey } from '@berth/protocol/carried/airgap-codes';
import { readPublicKey } from '@berth/protocol/cloud/vendor-signature';
import { Fault } from '../core/nouns/fault.ts';
import { SECOND_MS } from '../core/nouns/instant.ts';
import type { Cloud } from './cloud.ts';
import { createHttpCloud, type HttpCloudOptions } from './http-cloud.ts';

/** The settings that say which cloud there is. */
interface CloudSettings {
  /** Empty: there is none. */
  readonly url: string;
  /** A PEM text, the base64 of a DER form, or a file with either. */
  readonly publicKey: string;
  readonly timeoutSeconds: number;
}

/** The cloud that is configured; `null` for none. What cannot be used is a reason not to start. */
export function openCloud(
  settings: CloudSettings,
  rest: Pick<HttpCloudOptions, 'readWall' | 'signal'>,
): Cloud | null {
  if (settings.url === '') return null;
  return createHttpCloud({
    url: checkUrl(settings.url),
    publicKey: requireKey(settings),
    timeoutMs: settings.timeoutSeconds * SECOND_MS,
    ...rest,
  });
}

/** Whether what is sent there can be read on the way. */
export function isPlainAndFar({ url }: Pick<CloudSettings, 'url'>): boolean {
  if (url === '') return false;
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !/^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname);
}

function checkUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw unusable('"cloud.url" must be an address that begins with https:// (or http://).');
  }
  if (url.username !== '' || url.password !== '' || /[?#]/.test(text)) {
    throw unusable('"cloud.url" must hold nothing but an address: the keys are set with "berth key set".');
  }
  return url.href;
}

/** The vendor's key, which license files are signed with, too; `null` for none. */
export function readVendorKey({ publicKey }: Pick<CloudSettings, 'publicKey'>): KeyObject | null {
  return publicKey === '' ? null : readKey(publicKey);
}

/** What the vendor's confirmation codes are signed with; `null` for none. */
export function readAirgapKey({ publicKey }: Pick<CloudSettings, 'publicKey'>): KeyObject | null {
  if (publicKey === '') return null;
  const key = readAirgapPublicKey(existsSync(publicKey) ? readFileSync(publicKey, 'utf8') : publicKey);
  if (key !== null) return key;
  throw new Fault(
    'airgap_key_not_configured',
    '"airgap.publicKey" is no key of the curve P-256: it must be the base64 of x and y, 64 bytes together.',
  );
}

function requireKey(settings: CloudSettings): KeyObject {
  const key = readVendorKey(settings);
  if (key === null) {
    throw unusable(
      '"cloud.url" needs "cloud.publicKey", the public key of the cloud: without it nobody can tell its ' +
        "answers from somebody else's. Ask the vendor for it.",
    );
  }
  return key;
}

function readKey(given: string): KeyObject {
  try {
    // A value in the environment often has its line breaks written out.
    return readPublicKey((existsSync(given) ? readFileSync(given, 'utf8') : given).replaceAll('\\n', '\n'));
  } catch {
    throw unusable(
      '"cloud.publicKey" is neither an RSA public key (PEM, or base64 of DER) nor a file with one.',
    );
  }
}

function unusable(message: string): Fault {
  return new Fault('cloud_not_configured', message);
}
