import type { FileFacts } from '../command.ts';
import { say } from '../nouns/instant.ts';
import { isSameGrant, type License } from '../nouns/license.ts';
import { type Refused, refuse } from '../outcome.ts';
import type { FileView } from '../view.ts';

/**
 * Judges a file that a person carried here. It must be the vendor's and meant for this server. It must answer
 * a request of this server that was not answered before, or refresh a license that is here, and not be older
 * than the last one. The same file again is accepted, and changes nothing.
 */
export function judgeFile(license: License, file: FileFacts, view: FileView): Refused | null {
  return (
    refuseUntrusted(license, file, view) ?? refuseUse(license, file, view) ?? refuseOld(license, file, view)
  );
}

function refuseUntrusted(license: License, file: FileFacts, { hardwareId }: FileView): Refused | null {
  if (file.kind === 'airgap') return refusePolicy(license, file);
  if (!file.isSigned) {
    return refuse(
      'offline_signature_mismatch',
      'The file is not signed by the vendor: it was changed, or another vendor made it.',
    );
  }
  if (file.boundTo === null || file.boundTo !== hardwareId) {
    return refuse(
      'offline_hardware_mismatch',
      `The file is for another server. The hardware id of this one is ${hardwareId}.`,
      { hardwareId },
    );
  }
  return refuseNotFloating(license, 'license_not_floating');
}

function refusePolicy(license: License, file: FileFacts): Refused | null {
  if (!file.isConfirmed) {
    return refuse(
      'airgap_confirmation_invalid',
      'The confirmation code does not belong to this server, this license key and this policy id.',
    );
  }
  if (!file.isSigned) {
    return refuse('airgap_policy_invalid', 'The policy file is not signed by the vendor.');
  }
  // As the protocol has it, the code covers hardware id, key and policy id without separators: it is the same
  // for "ABC1" and "23" as for "ABC12" and "3". Only the signed policy says where one ends, so it must name
  // both exactly.
  if (String(license.id) !== file.policyId || license.key !== file.licenseKey) {
    return refuse(
      'airgap_policy_mismatch',
      'The policy file is not the one that was confirmed: it names another license key or policy id.',
    );
  }
  return refuseNotFloating(license, 'airgap_policy_invalid');
}

function refuseNotFloating(
  { slots }: License,
  code: 'license_not_floating' | 'airgap_policy_invalid',
): Refused | null {
  if (slots > 0) return null;
  return refuse(
    code,
    'This license is for a single machine and has no slots to lend. Ask the vendor for a floating license.',
  );
}

/** A request can be answered once. A file without one refreshes a license that this server has. */
function refuseUse(license: License, file: FileFacts, view: FileView): Refused | null {
  const { kind, requestId, confirmationId } = file;
  if (kind === 'airgap') return refuseUsedCode(confirmationId, view);
  if (requestId === null) {
    if (view.isHeld && view.known?.source === 'offline') return null;
    return refuse(
      'license_not_found',
      `The file refreshes the license ${license.id}, which this server does not have.`,
    );
  }
  if (view.request === null) {
    return refuse('offline_request_unknown', 'The file answers a request that this server did not make.');
  }
  const { answeredBy, licenseKey } = view.request;
  if (licenseKey !== null && licenseKey !== license.key) {
    return refuse(
      'offline_request_unknown',
      'This server has asked for another license. Somebody may have changed its request on the way: ' +
        'tell the vendor, and make a new one.',
    );
  }
  if (answeredBy === null) return null;
  if (view.isHeld && view.known?.tie.requestId === requestId) return null;
  return refuse(
    'offline_request_used',
    'The request of this file has already been answered. Create a new one.',
  );
}

/** A code has no date: once the license was given back, the code is used up. */
function refuseUsedCode(confirmationId: string | null, { known, isHeld }: FileView): Refused | null {
  if (isHeld || known === null || !known.tie.isGivenBack) return null;
  if (confirmationId !== known.tie.confirmationId) return null;
  return refuse(
    'airgap_confirmation_invalid',
    'The license was returned, so this confirmation code is void. Ask the vendor for new codes.',
  );
}

/** The same file again is not old. A policy may also come back after its license was removed. */
function refuseOld(license: License, { kind, issuedAt }: FileFacts, view: FileView): Refused | null {
  const { known, isHeld } = view;
  const newest = known?.tie.fileAt ?? null;
  if (known === null || newest === null || issuedAt > newest) return null;
  const mayComeAgain = isHeld || (kind === 'airgap' && !known.tie.isGivenBack);
  if (mayComeAgain && issuedAt === newest && isSameGrant(known, license)) return null;
  return refuse(
    'offline_file_outdated',
    `The file is from ${say(issuedAt)}, but one from ${say(newest)} was used before. Use the newest.`,
    { issuedAt, newestAt: newest },
  );
}
