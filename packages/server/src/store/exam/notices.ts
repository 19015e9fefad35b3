import assert from 'node:assert/strict';
import type { Command } from '../../core/command.ts';
import { NOW } from '../../core/examples.ts';
import { endOfLink } from '../../core/nouns/audit-position.ts';
import { DAY_MS, plus } from '../../core/nouns/instant.ts';
import type { License } from '../../core/nouns/license.ts';
import type { Bench } from './exam-store.ts';

const END = plus(NOW, DAY_MS);

async function count(bench: Bench, command: Command): Promise<number> {
  const outcome = await bench.execute(command);
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

/** What was told once is not told again after the store was opened anew. */
export function noticeCases(again: 'restart' | 'crash') {
  return {
    'the end of a license is told once, and another end again': async (bench: Bench) => {
      const license = await bench.install({ validUntil: END });
      assert.equal(await count(bench, expiring(license)), 1);
      await bench[again]();
      assert.equal(await count(bench, expiring(license)), 0);
      assert.equal(await count(bench, expiring(license, plus(END, 1))), 1);
      const told = await bench.listEventsOf('license_expiring', 'system');
      assert.deepEqual(
        told.map(({ licenseId, validUntil }) => [licenseId, validUntil]),
        [
          [license.id, END],
          [license.id, END + 1],
        ],
      );
    },
    'an outage is told once, and its end once': async (bench: Bench) => {
      assert.equal(await count(bench, BACK), 0);
      assert.equal(await count(bench, AWAY), 1);
      await bench[again]();
      assert.equal(await count(bench, AWAY), 0);
      assert.equal(await count(bench, BACK), 1);
      await bench[again]();
      assert.equal(await count(bench, BACK), 0);
      assert.equal(await count(bench, AWAY), 1, 'the next one');
      const kinds = (await bench.listEvents('system')).map(({ kind }) => kind);
      assert.deepEqual(kinds, ['cloud_unreachable', 'cloud_reachable', 'cloud_unreachable']);
    },
    'how far the webhook was told is kept': async (bench: Bench) => {
      const find = () => bench.store.read({ kind: 'find_webhook_cursor' });
      assert.equal(await find(), null);
      for (const position of [{ seq: 3, index: 1 }, endOfLink(7)]) {
        await bench.execute({ kind: 'set_webhook_cursor', position });
        await bench[again]();
        assert.deepEqual(await find(), position);
      }
      await bench.execute({ kind: 'set_webhook_cursor', position: { seq: 7, index: 2 } });
      assert.deepEqual(await find(), endOfLink(7), 'who is late puts nothing back');
      await bench.execute({ kind: 'set_webhook_cursor', position: endOfLink(9), isFirst: true });
      assert.deepEqual(await find(), endOfLink(7), 'who begins skips nothing');
      assert.deepEqual(await bench.listEvents('system'), []);
    },
    'the log is read onward from any link': async (bench: Bench) => {
      await bench.install({ slots: 5 });
      for (const user of ['ada', 'bob', 'cyd']) await bench.register(user);
      await bench[again]();
      const scope = { kind: 'list_audit', chain: null, before: null } as const;
      const all = (await bench.store.read({ ...scope, limit: 100 })).toReversed();
      assert.equal(all.length, 4);
      for (const [place, { seq }] of all.entries()) {
        const rest = await bench.store.read({ ...scope, after: seq, limit: 2 });
        assert.deepEqual(rest, all.slice(place + 1, place + 3));
      }
    },
  };
}
