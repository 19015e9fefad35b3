import type { KeyObject } from 'node:crypto';
import { type ReadCertificate, readCertificate } from '@berth/protocol/grant/server-certificate';
import type { Actor } from '../../core/nouns/actor.ts';
import { findCertificate } from '../../core/nouns/grant-key.ts';
import { type Instant, instant, say } from '../../core/nouns/instant.ts';
import type { License, LicenseId } from '../../core/nouns/license.ts';
import type { Store } from '../../store/store.ts';
import { RequestError } from '../request-error.ts';
import type { Identity } from '../upkeep/identity.ts';
import { readIdentityKey } from '../upkeep/identity-key.ts';
import type { Certification } from './certification.ts';
import type { GrantKeys } from './grant-keys.ts';

/** Shows by what applications know this server, and replaces the keys that sign grants. */
export interface IdentityDesk {
  describe(): Promise<IdentityDescription>;
  rotate(by: Actor): Promise<IdentityDescription>;
  /** Installs a certificate of the vendor that came as a file. */
  addCertificate(text: string | null, by: Actor): Promise<IdentityDescription>;
}

interface IdentityDescription {
  readonly hardwareId: string;
  /** The fingerprint of the key that signs exports, requests and usage files. */
  readonly identityKey: string;
  /** The keys that sign grants, the newest first. */
  readonly keys: readonly DescribedKey[];
  readonly licenses: readonly DescribedLicense[];
}

interface DescribedKey {
  readonly kid: string;
  /** The public half: 32 bytes in base64url. */
  readonly x: string;
  readonly createdAt: Instant;
  readonly endsAt: Instant | null;
}

/** How applications can verify the grants of a license. */
interface DescribedLicense {
  readonly licenseId: LicenseId;
  readonly product: string;
  /** The key that signs its grants. */
  readonly kid: string;
  /** `null`: it has none that is valid. */
  readonly certificate: { readonly issuedAt: Instant; readonly expiresAt: Instant } | null;
}

interface DeskOptions {
  readonly store: Store;
  readonly keys: GrantKeys;
  readonly identity: Identity;
  readonly certification: Certification;
  /** The key of the vendor; `null` if not configured. */
  readonly vendorKey: KeyObject | null;
  /** The vendor has to certify the new key. */
  readonly onRotated: () => void;
}

export function createIdentityDesk(options: DeskOptions): IdentityDesk {
  const { store, keys, identity, onRotated } = options;
  const describe = async (): Promise<IdentityDescription> => {
    const set = await keys.list();
    const records = await store.read({ kind: 'list_licenses', product: null });
    return {
      hardwareId: await identity.readHardwareId(),
      identityKey: (await readIdentityKey(store)).fingerprint,
      keys: set.map(({ kid, jwk, createdAt, endsAt }) => ({ kid, x: jwk.x, createdAt, endsAt })),
      licenses: records.map(({ license, now }) => {
        const certificate = findCertificate(license, now);
        const isUsed = certificate !== null && set.some(({ kid }) => kid === certificate.kid);
        return {
          licenseId: license.id,
          product: license.product,
          kid: isUsed ? certificate.kid : set[0].kid,
          certificate: isUsed ? { issuedAt: certificate.issuedAt, expiresAt: certificate.expiresAt } : null,
        };
      }),
    };
  };
  return {
    describe,
    async rotate(by) {
      await keys.rotate(by);
      onRotated();
      return describe();
    },
    async addCertificate(text, by) {
      await addCertificate(options, text, by);
      return describe();
    },
  };
}

async function addCertificate(options: DeskOptions, text: string | null, by: Actor): Promise<void> {
  const { store, identity } = options;
  const offered = readOffered(options, text);
  const hardwareId = await identity.readHardwareId();
  if (offered.hardwareId !== hardwareId) {
    throw mismatch(`It is for the hardware id ${offered.hardwareId}; this server has ${hardwareId}.`);
  }
  const records = await store.read({ kind: 'list_licenses', product: null });
  const named = records.filter(({ license }) =>
    offered.licenses.some(({ license_id: id }) => id === license.id),
  );
  if (named.length === 0) throw mismatch('It is for a license that this server does not have.');
  for (const { license, now } of named) {
    if (now >= offered.expiresAt) throw mismatch(`It expired at ${say(instant(offered.expiresAt))}.`);
    await certify(options, license, offered, by);
  }
}

async function certify({ store, certification }: DeskOptions, license: License, offered: Offered, by: Actor) {
  const expected = { licenseId: license.id, hardwareId: offered.hardwareId };
  const certificate = await certification.accept(offered, expected);
  if (certificate === null) {
    throw mismatch(
      `It is for the key ${offered.kid}, which is not the newest of this server. Send the vendor the grant ` +
        'key that "berth identity" shows.',
    );
  }
  const outcome = await store.execute({ kind: 'certify_license', licenseId: license.id, certificate, by });
  if (outcome.kind === 'refused') throw new RequestError(outcome.code, outcome.message);
}

type Offered = ReadCertificate;

function readOffered({ vendorKey }: DeskOptions, text: string | null): Offered {
  if (text === null) throw new RequestError('missing_parameters', '"certificate" is missing.', FIELD);
  if (vendorKey === null) {
    throw new RequestError(
      'offline_key_not_configured',
      'Certificates cannot be verified. Set cloud.publicKey to the public key of the vendor.',
    );
  }
  const offered = readCertificate(text.trim(), vendorKey);
  if (offered !== null) return offered;
  throw new RequestError(
    'server_certificate_invalid',
    'This is no certificate of the vendor, or it was changed. Copy it again exactly as the vendor sent it.',
    FIELD,
  );
}

const FIELD = { field: 'certificate' };

function mismatch(message: string): RequestError {
  return new RequestError('server_certificate_mismatch', message, FIELD);
}
