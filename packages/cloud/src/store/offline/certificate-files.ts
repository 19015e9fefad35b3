import { readGrantKey } from '@berth/protocol/carried/typed-code';
import { readOkpKey } from '@berth/protocol/grant/jws';
import type { Licensed } from '../../core/decision.ts';
import { isRefusal, type Refusal, refuse } from '../../core/refusal.ts';
import { refuseWithoutSlots } from '../../core/refuse-for-server.ts';
import { type CloudStore, transact } from '../cloud-store.ts';
import { type IssuedCertificates, issueCertificates } from '../keys/certificates.ts';
import { findGrantKey, jwkOf, setGrantKey } from '../keys/grant-keys.ts';
import type { SigningKeys } from '../keys/key-ring.ts';
import { getLicense } from '../licenses.ts';
import { checkLicense, chooseDevice } from './license-files.ts';

interface CertificateInput {
  readonly key: string;
  /** `null`: the only device with the license. */
  readonly hardwareId: string | null;
  /** The public key as the server shows it, which the vendor answers for; `null`: the one that is proven. */
  readonly grantKey: string | null;
  readonly days: number;
}

/** A certificate for a server that has the license, as a file. */
export function certifyByFile(
  store: CloudStore,
  { key, hardwareId, grantKey: typed, days }: CertificateInput,
  signingKeys: SigningKeys,
  now: number,
): IssuedCertificates | Refusal {
  const x = typed === null ? null : readKey(typed);
  if (isRefusal(x)) return x;
  return transact(store, () => {
    const license = getLicense(store, key);
    if (isRefusal(license)) return license;
    const refusal = refuseWithoutSlots(license);
    if (refusal !== null) return refusal;
    const chosen = hardwareId ?? chooseDevice(store, license);
    if (isRefusal(chosen)) return chosen;
    const licensed = checkLicense(store, license, chosen, now);
    if (isRefusal(licensed)) return licensed;
    if (x !== null) setGrantKey(store, licensed, x, true);
    const known = findGrantKey(store, licensed);
    if (!known?.isProven) return refuseUnproven(licensed, known?.grantKey.x ?? null);
    return issueCertificates(store, licensed, { grantKey: known.grantKey, days }, signingKeys, now);
  });
}

/** A grant key as a person typed or copied it. */
function readKey(text: string): string | Refusal {
  const x = readGrantKey(text);
  if (typeof x === 'string' && readOkpKey(jwkOf(x)) !== null) return x;
  const fault = typeof x === 'string' ? '' : ` ${x.fault}`;
  const remedy = '"berth identity" on the server shows it.';
  return refuse('validation_error', `The grant key is mistyped.${fault} ${remedy}`);
}

function refuseUnproven({ hardwareId }: Licensed, claimed: string | null): Refusal {
  if (claimed === null) {
    return refuse(
      'missing_parameters',
      `The grant key of machine "${hardwareId}" is not known. Add --grant-key=X with the key that ` +
        '"berth identity" shows there.',
    );
  }
  return refuse(
    'missing_parameters',
    `Nobody has proven that ${claimed} is the grant key of machine "${hardwareId}". If "berth identity" ` +
      `shows it there, add --grant-key=${claimed}.`,
  );
}
