import { writeKeyStatement } from '@berth/protocol/grant/key-statement';
import { type OfferedCertificate, readKnownCertificate } from '@berth/protocol/grant/server-certificate';
import type { KeyStatement, WrongCertificate } from '../../cloud/cloud.ts';
import { DAY_MS, instant } from '../../core/nouns/instant.ts';
import type { Certificate, License } from '../../core/nouns/license.ts';
import type { Store } from '../../store/store.ts';
import { readIdentityKey } from '../identity/identity-key.ts';
import type { CertificateDoubts } from './certificate-doubts.ts';
import type { GrantKeys } from './grant-keys.ts';

/** Gets the vendor's certificates for the key that signs grants. */
export interface Certification {
  /** What asks for a certificate, with every activation and check. */
  request(hardwareId: string): Promise<KeyStatement>;
  /**
   * The certificate to keep: one for this server, its newest key and the license. `null`: there is none, or
   * the one that the license has will do. Reports what an attacker, or a mistake, may have caused.
   */
  accept(offered: readonly OfferedCertificate[], expected: Expected): Promise<Certificate | null>;
  /** The vendor's answer was rejected because it has a certificate for another key. */
  noteWrong(fault: WrongCertificate): Promise<void>;
}

interface Expected {
  readonly license: Pick<License, 'id' | 'product'>;
  readonly hardwareId: string | null;
  /** What the license has. */
  readonly known: Certificate | undefined;
  /** Whether the vendor has certainly answered this server, which had asked for one. */
  readonly isDemanded: boolean;
}

export function createCertification(store: Store, keys: GrantKeys, doubts: CertificateDoubts): Certification {
  const isOurs = async (kid: string) => (await keys.list()).some((key) => key.kid === kid);
  return {
    async request(hardwareId) {
      const [{ kid, jwk }] = await keys.list();
      const { privateKey } = await readIdentityKey(store);
      return { text: writeKeyStatement(hardwareId, jwk, privateKey), kid };
    },
    async accept(offered, { license, hardwareId, known, isDemanded }) {
      const [{ kid }] = await keys.list();
      const about = { licenseId: license.id, product: license.product };
      const right = offered.find((one) => {
        return one.hardwareId === hardwareId && one.kid === kid && findTerms(one, license) !== undefined;
      });
      if (right !== undefined) {
        await doubts.end({ ...about, kid });
        return isNews(right, known, license) ? toCertificate(right) : null;
      }
      const others = offered.filter((one) => one.kid !== kid);
      for (const one of others) {
        if (!(await isOurs(one.kid)))
          await doubts.tell({ kind: 'certificate_wrong', ...about, kid: one.kid });
      }
      if (isDemanded && known !== undefined && others.length === 0) {
        await doubts.tell({ kind: 'certificate_missing', ...about, kid: null });
      }
      return null;
    },
    async noteWrong({ kid, licenses }) {
      if (await isOurs(kid)) return;
      for (const { id: licenseId, product } of licenses) {
        await doubts.tell({ kind: 'certificate_wrong', licenseId, product, kid });
      }
    },
  };
}

function findTerms({ licenses }: Pick<OfferedCertificate, 'licenses'>, { id }: Pick<License, 'id'>) {
  return licenses.find(({ license_id: named }) => named === id);
}

function toCertificate({ texts, kid, issuedAt, expiresAt }: OfferedCertificate): Certificate {
  return { texts, kid, issuedAt: instant(issuedAt), expiresAt: instant(expiresAt) };
}

/** The vendor issues one with every check. Keeping each would fill the audit log; one a day is enough. */
function isNews(
  offered: OfferedCertificate,
  known: Certificate | undefined,
  license: Pick<License, 'id'>,
): boolean {
  if (known === undefined || known.kid !== offered.kid) return true;
  if (known.texts.length !== offered.texts.length) return true;
  if (Math.abs(offered.issuedAt - known.issuedAt) >= DAY_MS) return true;
  const before = readKnownCertificate(known.texts[0]);
  const terms = before === null ? undefined : findTerms(before, license);
  return JSON.stringify(terms) !== JSON.stringify(findTerms(offered, license));
}
