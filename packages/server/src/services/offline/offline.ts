import type { Actor } from '../../core/nouns/actor.ts';
import type { Refused } from '../../core/outcome.ts';
import type { LicenseRecord } from '../../store/query.ts';
import { createTurns } from '../create-turns.ts';
import {
  type ActivationCode,
  activateByCode,
  type CodeWish,
  type InstallOptions,
  installFile,
  installPolicy,
  type PolicyWish,
} from './offline-licenses.ts';
import {
  type DeactivationWish,
  type MadeRequest,
  type MadeUsage,
  type RequestOptions,
  type RequestWish,
  requestDeactivation,
  requestLicense,
  writeUsage,
} from './offline-requests.ts';

/** Licenses for servers without internet: from files, or from typed codes. */
export interface Offline {
  /** Creates a file that requests a license from the vendor. */
  requestLicense(wish: RequestWish, by: Actor): Promise<MadeRequest>;
  /** Creates a file that returns a license, which stops lending first. */
  requestDeactivation(wish: DeactivationWish, by: Actor): Promise<MadeRequest>;
  /** Installs a license file: the answer to a request, or a refresh. */
  install(text: string, by: Actor): Promise<LicenseRecord | Refused>;
  /** Creates the activation code from the vendor's initialization code. */
  activateByCode(wish: CodeWish): Promise<ActivationCode>;
  /** Installs a policy file with the vendor's confirmation code. */
  installPolicy(wish: PolicyWish, by: Actor): Promise<LicenseRecord | Refused>;
  /** Creates a file with all consumption for the vendor. */
  writeUsage(by: Actor): Promise<MadeUsage>;
}

type OfflineOptions = RequestOptions & InstallOptions;

export function createOffline(options: OfflineOptions): Offline {
  // A file with a higher number must not have older amounts.
  const inTurn = createTurns();
  return {
    requestLicense: (wish, by) => requestLicense(options, wish, by),
    requestDeactivation: (wish, by) => inTurn(() => requestDeactivation(options, wish, by)),
    install: (text, by) => installFile(options, text, by),
    activateByCode: (wish) => activateByCode(options, wish),
    installPolicy: (wish, by) => installPolicy(options, wish, by),
    writeUsage: (by) => inTurn(() => writeUsage(options, by)),
  };
}
