import assert from 'node:assert/strict';
import type { FileFacts } from '../../../src/core/command.ts';
import { DAY_MS, HOUR_MS, plus } from '../../../src/core/nouns/instant.ts';
import { type License, NO_TIE } from '../../../src/core/nouns/license.ts';
import { exampleLicense, NOW } from '../../core/examples.ts';
import { codeOf, type ExamStore, grantedOf } from './exam-store.ts';

const HOME = 'home';

/** A file of the vendor that answers a request of this server; say what is different. */
function file(facts: Partial<FileFacts> = {}): FileFacts {
  return {
    kind: 'offline',
    isSigned: true,
    boundTo: HOME,
    requestId: 'r1',
    issuedAt: NOW,
    isConfirmed: false,
    licenseKey: null,
    policyId: null,
    confirmationId: null,
    ...facts,
  };
}

function policy(license: License, facts: Partial<FileFacts> = {}): FileFacts {
  const { id, key } = license;
  const confirmed = { isConfirmed: true, licenseKey: key, policyId: String(id) };
  return file({ kind: 'airgap', boundTo: null, requestId: null, ...confirmed, ...facts });
}

function fileLicense(facts: Partial<License> = {}): License {
  return exampleLicense({ source: 'offline', tie: { ...NO_TIE, hardwareId: HOME }, ...facts });
}

async function take(exam: ExamStore, license: License, facts: FileFacts): Promise<string> {
  return codeOf(await exam.execute({ kind: 'install_license', license, file: facts, by: 'admin' }));
}

async function prepare(exam: ExamStore, ...requestIds: readonly string[]): Promise<void> {
  await exam.execute({ kind: 'bind_hardware', hardwareId: HOME });
  for (const requestId of requestIds) {
    await exam.execute({
      kind: 'open_request',
      requestId,
      request: 'activation',
      product: null,
      licenseKey: null,
      by: 'admin',
    });
  }
}

async function answerWithAnother(exam: ExamStore, again: 'restart' | 'crash'): Promise<void> {
  await prepare(exam);
  const asked = { request: 'activation', product: null, licenseKey: fileLicense().key } as const;
  await exam.execute({ kind: 'open_request', requestId: 'r1', ...asked, by: 'admin' });
  await exam[again]();
  const foreign = fileLicense({ id: 99 as License['id'], key: 'ANOTHER-KEY' });
  assert.equal(await take(exam, foreign, file()), 'offline_request_unknown');
  assert.equal(await take(exam, fileLicense(), file()), 'done', 'it still waits for its own');
}

/** Which files are accepted, and that they still are after the store was reopened. */
export function fileCases(again: 'restart' | 'crash') {
  return {
    'a request for one license is not answered by another': (exam: ExamStore) =>
      answerWithAnother(exam, again),

    'a request is answered once': async (exam: ExamStore) => {
      await prepare(exam, 'r1', 'r2');
      assert.equal(await take(exam, fileLicense(), file()), 'done');
      await exam[again]();
      assert.equal(await take(exam, fileLicense(), file()), 'done', 'the same file again');
      const other = fileLicense({ slots: 9 });
      assert.equal(await take(exam, other, file()), 'offline_file_outdated', 'of the same date');
      const foreign = fileLicense({ id: 99 as License['id'] });
      assert.equal(await take(exam, foreign, file()), 'offline_request_used');
      assert.equal(await take(exam, foreign, file({ requestId: 'unknown' })), 'offline_request_unknown');
      assert.equal(await take(exam, foreign, file({ requestId: 'r2' })), 'done');
    },

    'dates only go forward, even for a removed license': async (exam: ExamStore) => {
      await prepare(exam, 'r1', 'r2', 'r3');
      await take(exam, fileLicense(), file({ issuedAt: plus(NOW, HOUR_MS) }));
      const refresh = file({ requestId: null });
      assert.equal(await take(exam, fileLicense({ slots: 9 }), refresh), 'offline_file_outdated');
      const newer = { ...refresh, issuedAt: plus(NOW, 2 * HOUR_MS) };
      assert.equal(await take(exam, fileLicense({ slots: 9 }), newer), 'done');
      const { id: licenseId } = fileLicense();
      await exam.execute({ kind: 'remove_license', licenseId, by: 'admin' });
      await exam[again]();
      assert.equal(await take(exam, fileLicense({ slots: 9 }), newer), 'license_not_found');
      assert.equal(await take(exam, fileLicense(), file()), 'offline_request_used');
      assert.equal(await take(exam, fileLicense(), file({ requestId: 'r2' })), 'offline_file_outdated');
      const fresh = file({ requestId: 'r3', issuedAt: plus(NOW, 3 * HOUR_MS) });
      assert.equal(await take(exam, fileLicense(), fresh), 'done');
      grantedOf(await exam.register('ada'));
    },

    'a file that is not for this server, or not signed, changes nothing': async (exam: ExamStore) => {
      await prepare(exam, 'r1');
      assert.equal(await take(exam, fileLicense(), file({ isSigned: false })), 'offline_signature_mismatch');
      assert.equal(await take(exam, fileLicense(), file({ boundTo: 'other' })), 'offline_hardware_mismatch');
      assert.equal(await take(exam, fileLicense({ slots: 0 }), file()), 'license_not_floating');
      await exam[again]();
      assert.deepEqual(await exam.listLicenses(), []);
      assert.equal(await take(exam, fileLicense(), file()), 'done', 'the request was not used up');
    },

    'a policy needs its confirmation, its signature and its number': async (exam: ExamStore) => {
      await prepare(exam);
      const license = fileLicense({ source: 'airgap' });
      for (const [facts, code] of [
        [{ isConfirmed: false }, 'airgap_confirmation_invalid'],
        [{ isSigned: false }, 'airgap_policy_invalid'],
        [{ policyId: '1' }, 'airgap_policy_mismatch'],
        [{ licenseKey: 'OTHER' }, 'airgap_policy_mismatch'],
      ] as const) {
        assert.equal(await take(exam, license, policy(license, facts)), code);
      }
      assert.equal(await take(exam, license, policy(license)), 'done');
      await exam.execute({ kind: 'remove_license', licenseId: license.id, by: 'admin' });
      await exam[again]();
      assert.equal(await take(exam, license, policy(license)), 'done', 'it may come back');
      const older = policy(license, { issuedAt: plus(NOW, -1) });
      assert.equal(await take(exam, license, older), 'offline_file_outdated');
    },
  };
}

/** What the server itself puts into files, and what it learns from them besides licenses. */
export function ownFileCases(again: 'restart' | 'crash') {
  return {
    'usage files are numbered, whatever happens in between': async (exam: ExamStore) => {
      const number = async () => {
        const outcome = await exam.execute({ kind: 'number_usage', by: 'admin' });
        return outcome.kind === 'done' ? outcome.count : 0;
      };
      assert.equal(await number(), 1);
      await exam[again]();
      assert.deepEqual([await number(), await number()], [2, 3]);
    },

    'the server has one key for ever': async (exam: ExamStore) => {
      const before = await exam.store.read({ kind: 'find_identity_key' });
      await exam[again]();
      const after = await exam.store.read({ kind: 'find_identity_key' });
      assert.deepEqual(Buffer.from(after), Buffer.from(before));
    },

    'no clock reset goes below the newest file': async (exam: ExamStore) => {
      await prepare(exam, 'r1');
      await take(exam, fileLicense(), file());
      exam.clock.advance(DAY_MS);
      await exam.now();
      exam.clock.setWall(plus(NOW, -DAY_MS));
      await exam[again]();
      assert.equal(codeOf(await exam.execute({ kind: 'reset_clock', by: 'admin' })), 'clock_reset');
      assert.equal(await exam.now(), NOW);
    },
  };
}
