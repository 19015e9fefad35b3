import type { KeyObject } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { readAirgapPublicKey } from '@berth/protocol/carried/airgap-codes';
import { readPublicKeys } from '@berth/protocol/cloud/vendor-signature';
import { Fault } from '../core/nouns/fault.ts';
import { SECOND_MS } from '../core/nouns/instant.ts';
import type { Cloud } from './cloud.ts';
import { createHttpCloud, type HttpCloudOptions } from './http-cloud.ts';

/** The settings of the cloud. */
interface CloudSettings {
  /** Empty if there is none. */
  readonly url: string;
  /** Each a PEM text, the base64 of a DER form, or a file with either. */
  readonly publicKey: readonly string[];
  readonly timeoutSeconds: number;
}

/** The configured cloud, or `null`. Invalid settings prevent a start. */
export function openCloud(
  settings: CloudSettings,
  rest: Pick<HttpCloudOptions, 'readWall' | 'signal' | 'onClock'>,
): Cloud | null {
  if (settings.url === '') return null;
  return createHttpCloud({
    url: checkUrl(settings.url),
    publicKeys: requireKeys(settings),
    timeoutMs: settings.timeoutSeconds * SECOND_MS,
    ...rest,
  });
}

/** Whether requests can be read on the network. */
export function isPlainAndFar({ url }: Pick<CloudSettings, 'url'>): boolean {
  if (url === '') return false;
  const { protocol, hostname } = new URL(url);
  return /^(?:http|tcp|udp|ldap):$/.test(protocol) && !/^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname);
}

function checkUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw unusable('"cloud.url" must be a URL that begins with https:// or http://.');
  }
  if (url.username !== '' || url.password !== '' || /[?#]/.test(text)) {
    throw unusable('"cloud.url" must only contain an address. Set the keys with "berth key set".');
  }
  return url.href;
}

/** The vendor's public keys, which also verify license files; none if not set. */
export function readVendorKeys({ publicKey }: Pick<CloudSettings, 'publicKey'>): readonly KeyObject[] {
  return publicKey.flatMap(readKeys);
}

/** The public key of the vendor's confirmation codes; `null` if not set. */
export function readAirgapKey({ publicKey }: { readonly publicKey: string }): KeyObject | null {
  if (publicKey === '') return null;
  const key = readAirgapPublicKey(existsSync(publicKey) ? readFileSync(publicKey, 'utf8') : publicKey);
  if (key !== null) return key;
  throw new Fault(
    'airgap_key_not_configured',
    '"airgap.publicKey" is not a P-256 key: it must be the base64 of x and y, 64 bytes together.',
  );
}

function requireKeys(settings: CloudSettings): readonly KeyObject[] {
  const keys = readVendorKeys(settings);
  if (keys.length === 0) {
    throw unusable(
      '"cloud.url" needs "cloud.publicKey", the public key of the cloud, to verify its answers. ' +
        'Ask the vendor for it.',
    );
  }
  return keys;
}

function readKeys(given: string): readonly KeyObject[] {
  try {
    // Values in the environment often have escaped line breaks.
    return readPublicKeys((existsSync(given) ? readFileSync(given, 'utf8') : given).replaceAll('\\n', '\n'));
  } catch {
    throw unusable(
      '"cloud.publicKey" is neither an RSA public key (PEM, or base64 of DER) nor a file with one.',
    );
  }
}

function unusable(message: string): Fault {
  return new Fault('cloud_not_configured', message);
}
