import type { Actor } from '../../core/nouns/actor.ts';
import type { Refused } from '../../core/outcome.ts';
import type { LicenseRecord } from '../../store/query.ts';
import { createTurns } from '../cloud/create-turns.ts';
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

/** Licenses that come without internet: in files, or by codes that a person types. */
export interface Offline {
  /** A file that asks the vendor for a license. */
  requestLicense(wish: RequestWish, by: Actor): Promise<MadeRequest>;
  /** A file that gives a license back. It stops lending here before the file is made. */
  requestDeactivation(wish: DeactivationWish, by: Actor): Promise<MadeRequest>;
  /** Takes a license file: the answer to a request, or a refresh. */
  install(text: string, by: Actor): Promise<LicenseRecord | Refused>;
  /** Turns the vendor's initialization code into the code that shows this server to the vendor. */
  activateByCode(wish: CodeWish): Promise<ActivationCode>;
  /** Takes a policy file and the vendor's confirmation code. */
  installPolicy(wish: PolicyWish, by: Actor): Promise<LicenseRecord | Refused>;
  /** A file with everything that was consumed, for the vendor. */
  writeUsage(by: Actor): Promise<MadeUsage>;
}

type OfflineOptions = RequestOptions & InstallOptions;

export function createOffline(options: OfflineOptions): Offline {
  // The amounts of a file with a higher number must not be older.
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
