import type { KeyObject } from 'node:crypto';
import { type OfferedCertificate, readCertificates } from '@berth/protocol/grant/server-certificate';
import { RequestError } from '@berth/protocol/request-error';
import type { Actor } from '../../core/nouns/actor.ts';
import { findCertificate } from '../../core/nouns/grant-key.ts';
import { type Instant, instant, say } from '../../core/nouns/instant.ts';
import type { License, LicenseId } from '../../core/nouns/license.ts';
import type { Store } from '../../store/store.ts';
import type { Identity } from '../identity/identity.ts';
import { readIdentityKey } from '../identity/identity-key.ts';
import type { Certification } from './certification.ts';
import type { FindUncertified } from './coverage.ts';
import type { GrantKeys } from './grant-keys.ts';

/** Shows by what applications know this server, and replaces the keys that sign grants. */
export interface GrantKeyAdmin {
  describe(): Promise<IdentityDescription>;
  rotate(by: Actor): Promise<IdentityDescription>;
  /** Installs a certificate of the vendor that came as a file, under one or several of the vendor's keys. */
  addCertificate(text: string, by: Actor): Promise<IdentityDescription>;
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
  /** What its grants claim beyond the certificate; `null`: nothing. */
  readonly uncertified: string | null;
}

interface GrantKeyAdminOptions {
  readonly store: Store;
  readonly keys: GrantKeys;
  readonly identity: Identity;
  readonly certification: Certification;
  /** The keys of the vendor; none if not configured. */
  readonly findVendorKeys: () => Promise<readonly KeyObject[]>;
  readonly findUncertified: FindUncertified;
  /** The vendor has to certify the new key. */
  readonly onRotated: () => void;
}

export function createGrantKeyAdmin(options: GrantKeyAdminOptions): GrantKeyAdmin {
  const { store, keys, identity, findUncertified, onRotated } = options;
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
          uncertified: isUsed ? findUncertified(license) : null,
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

async function addCertificate(options: GrantKeyAdminOptions, text: string, by: Actor): Promise<void> {
  const { store, identity, keys } = options;
  const offered = await readGivenCertificates(options, text);
  const hardwareId = await identity.readHardwareId();
  const [newest] = await keys.list();
  const records = await store.read({ kind: 'list_licenses', product: null });
  for (const one of offered) {
    if (one.hardwareId !== hardwareId) {
      throw mismatch(`It is for the hardware id ${one.hardwareId}; this server has ${hardwareId}.`);
    }
    if (one.kid !== newest.kid) throw mismatch(OTHER_KEY.replace('KID', one.kid));
    const named = records.filter(({ license }) =>
      one.licenses.some(({ license_id: id }) => id === license.id),
    );
    if (named.length === 0) throw mismatch('It is for a license that this server does not have.');
    for (const { license, now } of named) {
      if (now >= one.expiresAt) throw mismatch(`It expired at ${say(instant(one.expiresAt))}.`);
      await certify(options, license, one, by);
    }
  }
}

const OTHER_KEY =
  'It is for the key KID, which is not the newest of this server. Send the vendor the grant key that ' +
  '"berth identity" shows.';

async function certify(
  options: GrantKeyAdminOptions,
  license: License,
  offered: OfferedCertificate,
  by: Actor,
) {
  const { hardwareId } = offered;
  const expected = { license, hardwareId, known: undefined, isDemanded: false };
  const certificate = await options.certification.accept([offered], expected);
  if (certificate === null) throw mismatch(OTHER_KEY.replace('KID', offered.kid));
  const outcome = await options.store.execute({
    ...{ kind: 'certify_license', licenseId: license.id, certificate, by },
  });
  if (outcome.kind === 'refused') throw new RequestError(outcome.code, outcome.message);
}

async function readGivenCertificates(
  { findVendorKeys }: GrantKeyAdminOptions,
  text: string,
): Promise<readonly OfferedCertificate[]> {
  const vendorKeys = await findVendorKeys();
  if (vendorKeys.length === 0) {
    throw new RequestError(
      'offline_key_not_configured',
      'Certificates cannot be verified. Set cloud.publicKey to the public key of the vendor.',
    );
  }
  const given = text.trim().split(/\s+/);
  const offered = readCertificates(given, vendorKeys);
  const read = new Set(offered.flatMap(({ texts }) => texts));
  if (given.every((one) => read.has(one))) return offered;
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
