import assert from 'node:assert/strict';
import { DAY_MS, plus } from '../../../src/core/nouns/instant.ts';
import { type Certificate, type License, NO_TIE } from '../../../src/core/nouns/license.ts';
import { exampleLicense, NOW } from '../../core/examples.ts';
import { codeOf, type ExamStore, grantedOf } from './exam-store.ts';

const CERTIFICATE: Certificate = {
  texts: ['jws', 'jws under the next key'],
  kid: 'k1',
  issuedAt: NOW,
  expiresAt: plus(NOW, 30 * DAY_MS),
};

function rotate(exam: ExamStore, kid: string, isFirst = false) {
  const how = isFirst ? { isFirst } : {};
  return exam.execute({ kind: 'rotate_grant_key', kid, privateKey: `private ${kid}`, ...how, by: 'admin' });
}

async function listKids(exam: ExamStore): Promise<readonly string[]> {
  return (await exam.store.read({ kind: 'find_grant_keys' })).map(({ kid }) => kid);
}

async function certificateOf(exam: ExamStore) {
  const { license } = grantedOf(await exam.register('ada'));
  return license.tie.certificate;
}

/** That the keys of grants and their certificates are still there after the store was reopened. */
export function grantKeyCases(again: 'restart' | 'crash') {
  return {
    'the first key is made once': async (exam: ExamStore) => {
      assert.deepEqual(await listKids(exam), []);
      await rotate(exam, 'k1', true);
      await rotate(exam, 'k2', true);
      await exam[again]();
      assert.deepEqual(await exam.store.read({ kind: 'find_grant_keys' }), [
        { kid: 'k1', privateKey: 'private k1', createdAt: NOW, endsAt: null },
      ]);
    },

    'a replaced key stays': async (exam: ExamStore) => {
      await exam.install();
      await rotate(exam, 'k1', true);
      await rotate(exam, 'k2');
      await exam[again]();
      const [newest, replaced] = await exam.store.read({ kind: 'find_grant_keys' });
      assert.deepEqual([newest?.kid, newest?.endsAt, replaced?.kid], ['k2', null, 'k1']);
      assert.ok((replaced?.endsAt ?? 0) > NOW + DAY_MS, 'for as long as a borrow lasts');
      const events = await exam.listEventsOf('grant_key_rotated', 'system');
      assert.equal(events.length, 1, 'the first is made without a word');
    },

    'a license keeps its certificate when it is refreshed, and loses it on another machine': async (
      exam: ExamStore,
    ) => {
      const here = { ...NO_TIE, hardwareId: 'here' };
      const license: License = await exam.install({ tie: { ...here, certificate: CERTIFICATE } });
      assert.deepEqual(await certificateOf(exam), CERTIFICATE);
      await exam[again]();
      await exam.install({ slots: 3, tie: here });
      assert.deepEqual(await certificateOf(exam), CERTIFICATE);
      const newer: Certificate = { ...CERTIFICATE, texts: ['newer'], kid: 'k2' };
      const certify = {
        kind: 'certify_license',
        licenseId: license.id,
        certificate: newer,
        by: 'admin',
      } as const;
      for (let times = 0; times < 2; times++) assert.equal(codeOf(await exam.execute(certify)), 'done');
      await exam[again]();
      assert.deepEqual(await certificateOf(exam), newer);
      await exam.install({ tie: { ...NO_TIE, hardwareId: 'elsewhere' } });
      assert.equal(await certificateOf(exam), undefined);
      const events = await exam.listEventsOf('certificate_added', license.id);
      assert.deepEqual(
        events.map((event) => 'kid' in event && event.kid),
        ['k1', 'k2'],
      );
      const other = { ...certify, licenseId: exampleLicense({ id: 99 as License['id'] }).id };
      assert.equal(codeOf(await exam.execute(other)), 'license_not_found');
    },
  };
}
