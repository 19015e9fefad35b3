import { isRefusal, type Refusal, refuse } from '../../core/refusal.ts';
import { type CloudStore, transact } from '../cloud-store.ts';
import { type IssuedCertificate, issueCertificate, learnGrantKey } from '../keys/certificates.ts';
import type { SigningKeys } from '../keys/key-ring.ts';
import { getLicense } from '../licenses.ts';
import { checkLicense, chooseDevice } from './license-files.ts';
import { findKeyOfMachine, readKey } from './policy-certificates.ts';

interface CertificateWish {
  readonly key: string;
  /** `null`: the only device with the license. */
  readonly hardwareId: string | null;
  /** The public key as the server shows it; `null`: the one that the server told. */
  readonly grantKey: string | null;
}

/** A certificate for a server that has the license, as a file. The vendor answers for the key. */
export function certifyByFile(
  store: CloudStore,
  { key, hardwareId, grantKey: typed }: CertificateWish,
  signingKeys: SigningKeys,
  now: number,
): IssuedCertificate | Refusal {
  const x = typed === null ? null : readKey(typed);
  if (isRefusal(x)) return x;
  return transact(store, () => {
    const license = getLicense(store, key);
    if (isRefusal(license)) return license;
    const chosen = hardwareId ?? chooseDevice(store, license);
    if (isRefusal(chosen)) return chosen;
    const licensed = checkLicense(store, license, chosen, now);
    if (isRefusal(licensed)) return licensed;
    if (x !== null) learnGrantKey(store, chosen, x.x, now);
    const grantKey = x ?? findKeyOfMachine(store, licensed, signingKeys);
    if (grantKey !== null) {
      return issueCertificate(store, licensed, { grantKey, way: 'carried' }, signingKeys, now);
    }
    return refuse(
      'missing_parameters',
      `The grant key of machine "${chosen}" is not known. Add --grant-key X, as "berth identity" shows it.`,
    );
  });
}
