import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FileFacts } from '../../../src/core/command.ts';
import { judgeFile } from '../../../src/core/lending/judge-file.ts';
import { plus } from '../../../src/core/nouns/instant.ts';
import type { License } from '../../../src/core/nouns/license.ts';
import type { FileView } from '../../../src/core/view.ts';
import { exampleLicense, expectRefused, NOW } from '../examples.ts';

const LICENSE = exampleLicense({ source: 'offline', key: 'KEY' });
const FILE: FileFacts = {
  kind: 'offline',
  isSigned: true,
  boundTo: 'home',
  requestId: 'r',
  issuedAt: NOW,
  isConfirmed: true,
  licenseKey: 'KEY',
  policyId: String(LICENSE.id),
  confirmationId: 'c',
};
const VIEW: FileView = {
  hardwareId: 'home',
  known: null,
  isHeld: false,
  request: { answeredBy: null, licenseKey: null },
};
const POLICY = { kind: 'airgap', boundTo: null, requestId: null } as const;
const REFRESH = { requestId: null };

/** The license as it is here already. */
function known(tie: Partial<License['tie']> = {}, facts: Partial<License> = {}) {
  return { known: { ...LICENSE, ...facts, tie: { ...LICENSE.tie, requestId: 'r', fileAt: NOW, ...tie } } };
}

const HELD = { ...known(), isHeld: true };
const ANSWERED = { request: { answeredBy: LICENSE.id, licenseKey: null } };
const older = plus(NOW, -1);
const newer = plus(NOW, 1);

type Row = [string, Partial<FileFacts>, Partial<FileView>, string | null, Partial<License>?];

const ROWS: readonly Row[] = [
  ['it answers a request', {}, {}, null],
  ['it is not signed', { isSigned: false }, {}, 'offline_signature_mismatch'],
  ['it is for another server', { boundTo: 'other' }, {}, 'offline_hardware_mismatch'],
  ['it is for no server', { boundTo: null }, { hardwareId: null }, 'offline_hardware_mismatch'],
  ['there are no slots', {}, {}, 'license_not_floating', { slots: 0 }],
  ['there is one slot', {}, {}, null, { slots: 1 }],
  ['nobody asked for it', {}, { request: null }, 'offline_request_unknown'],
  ['its key was asked for', {}, { request: { answeredBy: null, licenseKey: 'KEY' } }, null],
  [
    'another was asked for',
    {},
    { request: { answeredBy: null, licenseKey: 'B' } },
    'offline_request_unknown',
  ],
  ['its request was answered', {}, ANSWERED, 'offline_request_used'],
  ['it comes again', {}, { ...HELD, ...ANSWERED }, null],
  ['it comes again, and is gone', {}, { ...HELD, ...ANSWERED, isHeld: false }, 'offline_request_used'],
  ['another came since', { requestId: 'q' }, { ...HELD, ...ANSWERED }, 'offline_request_used'],
  ['it refreshes the license', { ...REFRESH, issuedAt: newer }, HELD, null],
  ['it refreshes one that is gone', { ...REFRESH, issuedAt: newer }, known(), 'license_not_found'],
  [
    'it refreshes one of a cloud',
    REFRESH,
    { ...known({}, { source: 'cloud' }), isHeld: true },
    'license_not_found',
  ],
  ['it is older than the last', { ...REFRESH, issuedAt: older }, HELD, 'offline_file_outdated'],
  ['it is the last', REFRESH, HELD, null],
  ['it is as old as the last, and another', REFRESH, HELD, 'offline_file_outdated', { slots: 9 }],
  [
    'no file came before',
    { ...REFRESH, issuedAt: older },
    { ...known({ fileAt: undefined as never }), isHeld: true },
    null,
  ],
  ['it is the last, and the license is gone', {}, known(), 'offline_file_outdated'],
  ['a policy', POLICY, {}, null],
  ['a policy that was not confirmed', { ...POLICY, isConfirmed: false }, {}, 'airgap_confirmation_invalid'],
  ['a policy that is not signed', { ...POLICY, isSigned: false }, {}, 'airgap_policy_invalid'],
  ['a policy for another key', { ...POLICY, licenseKey: 'B' }, {}, 'airgap_policy_mismatch'],
  ['a policy with another id', { ...POLICY, policyId: 'B' }, {}, 'airgap_policy_mismatch'],
  ['a policy without slots', POLICY, {}, 'airgap_policy_invalid', { slots: 0 }],
  ['a policy that comes back', POLICY, known({ confirmationId: 'c' }), null],
  [
    'a policy that was returned',
    POLICY,
    known({ confirmationId: 'c', isGivenBack: true }),
    'airgap_confirmation_invalid',
  ],
  [
    'a newer code after a return',
    { ...POLICY, issuedAt: newer },
    known({ confirmationId: 'b', isGivenBack: true }),
    null,
  ],
  [
    'another code, and the same policy',
    POLICY,
    known({ confirmationId: 'b', isGivenBack: true }),
    'offline_file_outdated',
  ],
];

describe('a file that was carried here', () => {
  for (const [title, file, view, code, facts = {}] of ROWS) {
    test(`${title}: ${code ?? 'accepted'}`, () => {
      const refusal = judgeFile({ ...LICENSE, ...facts }, { ...FILE, ...file }, { ...VIEW, ...view });
      assert.equal(refusal === null ? null : expectRefused(refusal).code, code);
    });
  }
});
