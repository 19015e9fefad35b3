import assert from 'node:assert/strict';
import { NOW } from '../../core/examples.ts';
import { HOUR_MS, plus } from '../../core/nouns/instant.ts';
import { YEAR_MS } from './clock.ts';
import { type Bench, codeOf } from './exam-store.ts';
import { deny } from './rules.ts';

/** Where one server has the data for itself, commands on different things have one order, too. */
export const ONE_ORDER = {
  'rules hold for what comes after them, in the same batch too': async (bench: Bench) => {
    await bench.install({ product: 'cad' });
    const outcomes = await Promise.all([
      bench.register('ada'),
      deny(bench, { users: ['a*'] }),
      bench.register('ann'),
      deny(bench, {}),
      bench.register('ann'),
    ]);
    assert.deepEqual(outcomes.map(codeOf), ['granted', 'done', 'blacklisted', 'done', 'granted']);
  },

  'a window is found again by counts that share a batch with the reset of the clock': async (
    bench: Bench,
  ) => {
    const license = await bench.install();
    await bench.consume(5);
    await bench.restart(() => bench.clock.setWall(plus(bench.clock.readWall(), YEAR_MS)));
    await bench.consume(2);
    bench.clock.setWall(plus(bench.clock.readWall(), -YEAR_MS));
    const reset = bench.execute({ kind: 'reset_clock', by: 'admin' });
    await Promise.all([reset, bench.consume(1), bench.consume(1)]);
    assert.equal((await bench.readStanding(license)).total, 7);
    assert.equal(await bench.cutReport(license, 'r'), 9);
  },

  'a clock command that throws moves no time': async (bench: Bench) => {
    const by = 10n as unknown as string;
    await bench.install();
    await bench.register('ada');
    const before = await bench.listSlots();
    bench.clock.setWall(plus(NOW, HOUR_MS));
    await assert.rejects(bench.execute({ kind: 'accept_clock', by }));
    bench.clock.setWall(plus(NOW, -HOUR_MS));
    await assert.rejects(bench.execute({ kind: 'reset_clock', by }));
    assert.equal(await bench.now(), NOW);
    assert.deepEqual(await bench.listSlots(), before);
  },
};
