import type { Actor } from '../../core/nouns/actor.ts';
import type { Refused } from '../../core/outcome.ts';
import type { LicenseRecord } from '../../store/query.ts';
import { createTurns } from '../create-turns.ts';
import {
  type ActivationCode,
  activateByCode,
  type CodeInput,
  type InstallOptions,
  installFile,
  installPolicy,
  type PolicyInput,
} from './offline-licenses.ts';
import {
  type DeactivationInput,
  listRequests,
  type MadeRequest,
  type MadeUsage,
  type OpenRequest,
  type RequestInput,
  type RequestOptions,
  requestDeactivation,
  requestLicense,
  writeUsage,
} from './offline-requests.ts';

/** Licenses for servers without internet: from files, or from typed codes. */
export interface Offline {
  /** Creates a file that requests a license from the vendor. */
  requestLicense(input: RequestInput, by: Actor): Promise<MadeRequest>;
  /** Creates a file that returns a license, which stops lending first. */
  requestDeactivation(input: DeactivationInput, by: Actor): Promise<MadeRequest>;
  /** The requests for licenses that the vendor has not answered, the newest first. */
  listRequests(): Promise<readonly OpenRequest[]>;
  /** Installs a license file: the answer to a request, or a refresh. */
  install(text: string, by: Actor): Promise<LicenseRecord | Refused>;
  /** Creates the activation code from the vendor's initialization code. */
  activateByCode(input: CodeInput, by: Actor): Promise<ActivationCode>;
  /** Installs a policy file with the vendor's confirmation code. */
  installPolicy(input: PolicyInput, by: Actor): Promise<LicenseRecord | Refused>;
  /** Creates a file with all consumption for the vendor. */
  writeUsage(by: Actor): Promise<MadeUsage>;
}

type OfflineOptions = RequestOptions & InstallOptions;

export function createOffline(options: OfflineOptions): Offline {
  // A file with a higher number must not have older amounts.
  const inTurn = createTurns();
  return {
    requestLicense: (input, by) => requestLicense(options, input, by),
    requestDeactivation: (input, by) => inTurn(() => requestDeactivation(options, input, by)),
    install: (text, by) => installFile(options, text, by),
    activateByCode: (input, by) => activateByCode(options, input, by),
    listRequests: () => listRequests(options),
    installPolicy: (input, by) => installPolicy(options, input, by),
    writeUsage: (by) => inTurn(() => writeUsage(options, by)),
  };
}
