import { sign } from 'node:crypto';
import { promisify } from 'node:util';
import { base64url } from '@berth/protocol/grant/jws';
import { findCertificate } from '../../core/nouns/grant-key.ts';
import type { Instant } from '../../core/nouns/instant.ts';
import type { License } from '../../core/nouns/license.ts';
import type { Identity } from '../identity/identity.ts';
import type { GrantKeys, SigningKey } from './grant-keys.ts';

/** Signs what was lent, so that an application can verify it without this server. */
export interface Grants {
  /** `describe`: the claims as JSON, for the hardware id of this server. */
  sign(license: License, now: Instant, describe: (hardwareId: string) => string): Promise<SignedGrant>;
}

export interface SignedGrant {
  readonly grant: string;
  /** The vendor's certificate for the key that signed it, under each of the vendor's keys; none: empty. */
  readonly certificates: readonly string[];
}

/** With a callback, it is computed in a thread of libuv's pool. */
const signElsewhere = promisify(sign) as unknown as (
  algorithm: null,
  data: Uint8Array,
  key: SigningKey['privateKey'],
) => Promise<Buffer>;

export function createGrants(keys: GrantKeys, identity: Identity): Grants {
  let hardwareId: string | null = null;
  return {
    async sign(license, now, describe) {
      const set = await keys.list();
      // A server does not change its machine while it runs.
      hardwareId ??= await identity.readHardwareId();
      const certificate = findCertificate(license, now);
      const certified = certificate === null ? undefined : set.find(({ kid }) => kid === certificate.kid);
      const key = certified ?? set[0];
      const input = `${key.header}.${base64url(describe(hardwareId))}`;
      const signature = await signElsewhere(null, Buffer.from(input), key.privateKey);
      return {
        grant: `${input}.${signature.toString('base64url')}`,
        certificates: certified === undefined ? [] : (certificate?.texts ?? []),
      };
    },
  };
}
