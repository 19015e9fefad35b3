import assert from 'node:assert/strict';
import type { Command } from '../../../src/core/command.ts';
import { endOfLink } from '../../../src/core/nouns/audit-position.ts';
import { DAY_MS, plus } from '../../../src/core/nouns/instant.ts';
import type { License } from '../../../src/core/nouns/license.ts';
import { NOW } from '../../core/examples.ts';
import type { ExamStore } from './exam-store.ts';

const END = plus(NOW, DAY_MS);

async function count(exam: ExamStore, command: Command): Promise<number> {
  const outcome = await exam.execute(command);
  return outcome.kind === 'done' ? outcome.count : Number.NaN;
}

function expiring({ id, product }: License, validUntil = END): Command {
  const notice = { kind: 'license_expiring', licenseId: id, product, validUntil } as const;
  return { kind: 'note', notice };
}

const AWAY: Command = {
  kind: 'note',
  notice: { kind: 'cloud_unreachable', failingAt: NOW, code: 'cloud_unavailable', reason: 'timeout' },
};
const BACK: Command = { kind: 'note', notice: { kind: 'cloud_reachable' } };

/** A notice that was given is not given again after the store was reopened. */
export function noticeCases(again: 'restart' | 'crash') {
  return {
    'the end of a license is reported once, and another end again': async (exam: ExamStore) => {
      const license = await exam.install({ validUntil: END });
      assert.equal(await count(exam, expiring(license)), 1);
      await exam[again]();
      assert.equal(await count(exam, expiring(license)), 0);
      assert.equal(await count(exam, expiring(license, plus(END, 1))), 1);
      const told = await exam.listEventsOf('license_expiring', 'system');
      assert.deepEqual(
        told.map(({ licenseId, validUntil }) => [licenseId, validUntil]),
        [
          [license.id, END],
          [license.id, END + 1],
        ],
      );
    },
    'an outage is reported once, and its end once': async (exam: ExamStore) => {
      assert.equal(await count(exam, BACK), 0);
      assert.equal(await count(exam, AWAY), 1);
      await exam[again]();
      assert.equal(await count(exam, AWAY), 0);
      assert.equal(await count(exam, BACK), 1);
      await exam[again]();
      assert.equal(await count(exam, BACK), 0);
      assert.equal(await count(exam, AWAY), 1, 'the next one');
      const kinds = (await exam.listEvents('system')).map(({ kind }) => kind);
      assert.deepEqual(kinds, ['cloud_unreachable', 'cloud_reachable', 'cloud_unreachable']);
    },
    'notices are listed by kind': async (exam: ExamStore) => {
      const license = await exam.install({ validUntil: END });
      const { id: licenseId, product } = license;
      const list = () => exam.store.read({ kind: 'list_notices', of: 'license_nearly_full' });
      assert.deepEqual(await list(), []);
      await exam.execute(expiring(license));
      for (const feature of [null, 'render']) {
        const notice = {
          kind: 'license_nearly_full',
          licenseId,
          product,
          feature,
          inUse: 9,
          slots: 10,
        } as const;
        assert.equal(await count(exam, { kind: 'note', notice }), 1);
      }
      await exam[again]();
      assert.deepEqual(await list(), [String(licenseId), `${licenseId} render`]);
    },
    ...cursorCases(again),
  };
}

/** Reading on from a position in the log. */
function cursorCases(again: 'restart' | 'crash') {
  return {
    'the cursor of a follower is stored': async (exam: ExamStore) => {
      const follower = 'webhook';
      const find = () => exam.store.read({ kind: 'find_cursor', follower });
      assert.equal(await find(), null);
      for (const position of [{ seq: 3, index: 1 }, endOfLink(7)]) {
        await exam.execute({ kind: 'set_cursor', follower, position });
        await exam[again]();
        assert.deepEqual(await find(), position);
      }
      await exam.execute({ kind: 'set_cursor', follower, position: { seq: 7, index: 2 } });
      assert.deepEqual(await find(), endOfLink(7), 'who is late puts nothing back');
      await exam.execute({ kind: 'set_cursor', follower, position: endOfLink(9), isFirst: true });
      assert.deepEqual(await find(), endOfLink(7), 'who begins skips nothing');
      assert.equal(await exam.store.read({ kind: 'find_cursor', follower: 'syslog' }), null);
      assert.deepEqual(await exam.listEvents('system'), []);
    },
    'the log can be read from any link': async (exam: ExamStore) => {
      await exam.install({ slots: 5 });
      for (const user of ['ada', 'bob', 'cyd']) await exam.register(user);
      await exam[again]();
      const scope = { kind: 'list_audit', chain: null, before: null } as const;
      const all = (await exam.store.read({ ...scope, limit: 100 })).toReversed();
      assert.equal(all.length, 4);
      for (const [place, { seq }] of all.entries()) {
        const rest = await exam.store.read({ ...scope, after: seq, limit: 2 });
        assert.deepEqual(rest, all.slice(place + 1, place + 3));
      }
    },
  };
}
