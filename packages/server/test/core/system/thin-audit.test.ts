import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { plus, say } from '../../../src/core/nouns/instant.ts';
import { licenseId } from '../../../src/core/nouns/license.ts';
import { thinAudit } from '../../../src/core/system/audit.ts';
import type { ThinAudit } from '../../../src/core/system-command.ts';
import type { ThinnableChain } from '../../../src/core/system-module.ts';
import { expectRefused, NOW } from '../examples.ts';

const by = { name: 'root', address: '10.0.0.9' };
const thin: ThinAudit = { kind: 'thin_audit', before: plus(NOW, -1000), chain: null, by };

function chain(id: number, thinnedTo: number, oldTo: number, isWhole = true): ThinnableChain {
  return { chain: id, thinnedTo, oldTo, isWhole, folded: null };
}

describe('thinning out the audit log', () => {
  test('removes older links from every chain, and records it in one event', () => {
    const { outcome, events } = thinAudit.decide(
      thin,
      { chains: [chain(0, 3, 10), chain(7, 0, 5), chain(8, 4, 4)] },
      NOW,
    );
    assert.deepEqual(outcome, { kind: 'done', count: 12 });
    const thinned = [
      [0, 10, 7],
      [7, 5, 5],
    ];
    assert.deepEqual(events, [{ kind: 'audit_thinned', before: say(thin.before), thinned, by }]);
  });

  test('leaves no trace if nothing is old enough', () => {
    const { outcome, events } = thinAudit.decide(thin, { chains: [chain(0, 3, 3)] }, NOW);
    assert.deepEqual([outcome, events], [{ kind: 'done', count: 0 }, []]);
  });

  test('takes a date up to now, but none in the future', () => {
    assert.equal(
      thinAudit.decide({ ...thin, before: NOW }, { chains: [chain(0, 0, 1)] }, NOW).outcome.kind,
      'done',
    );
    const { outcome, events } = thinAudit.decide(
      { ...thin, before: plus(NOW, 1) },
      { chains: [chain(0, 0, 1)] },
      NOW,
    );
    assert.equal(expectRefused(outcome).code, 'validation_error');
    assert.deepEqual(events, []);
  });

  test('leaves all chains alone when one of them was altered', () => {
    const { outcome, events } = thinAudit.decide(
      thin,
      { chains: [chain(0, 0, 4), chain(7, 0, 5, false)] },
      NOW,
    );
    assert.equal(expectRefused(outcome).code, 'audit_not_whole');
    assert.match(outcome.kind === 'refused' ? outcome.message : '', /license 7/);
    const ofSystem = thinAudit.decide(thin, { chains: [chain(0, 0, 4, false)] }, NOW).outcome;
    assert.match(expectRefused(ofSystem).message, /^The chain of the system was altered/);
    assert.deepEqual(events, []);
  });

  test('refuses a license that was never here', () => {
    const { outcome } = thinAudit.decide({ ...thin, chain: licenseId(9) }, { chains: [] }, NOW);
    assert.equal(expectRefused(outcome).code, 'license_not_found');
  });
});
