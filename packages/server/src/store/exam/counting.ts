import assert from 'node:assert/strict';
import { consume, exampleFeature, exampleLimits, NOW } from '../../core/examples.ts';
import { ANSWER_LIFETIME_MS } from '../../core/lending/repeat-answer.ts';
import { HOUR_MS, instant, plus } from '../../core/nouns/instant.ts';
import { licenseId } from '../../core/nouns/license.ts';
import type { Outcome } from '../../core/outcome.ts';
import type { GrantedNow } from '../store.ts';
import { type Bench, codeOf, grantedOf, measuredOf, refusedOf, users } from './exam-store.ts';

const YEAR_MS = 365 * 24 * HOUR_MS;
const ADDERS = 64;
const RESET = { kind: 'reset_clock', by: 'admin' } as const;

/** The last millisecond of the month in which the cases begin. */
const MONTH_END = instant(Date.UTC(2030, 1, 1) - 1);

function withKey(key: string, bodyHash = 'body') {
  return { idempotency: { key, bodyHash } };
}

function totalsOf(outcomes: readonly Outcome[]): readonly number[] {
  return outcomes.flatMap((outcome) => (outcome.kind === 'measured' ? [outcome.total] : []));
}

function upTo(limit: number): readonly number[] {
  return Array.from({ length: limit }, (_, index) => index + 1);
}

/** Everyone adds one, again and again, and all at once. */
async function addFromMany(bench: Bench, times: number, feature: string | null): Promise<Outcome[]> {
  const add = async (user: string) => {
    const outcomes: Outcome[] = [];
    for (let n = 0; n < times; n++) outcomes.push(await bench.consume(1, { user, feature }));
    return outcomes;
  };
  return (await Promise.all(users(ADDERS).map(add))).flat();
}

export const COUNTING_AT_ONCE = {
  'sixty-four who add reach the limit exactly, and no answer shows more': async (bench: Bench) => {
    const license = await bench.install({ consumption: exampleLimits({ max: 300 }) });
    const outcomes = await addFromMany(bench, 10, null);
    const totals = totalsOf(outcomes);
    assert.deepEqual(
      totals.toSorted((a, b) => a - b),
      upTo(300),
      'every total once',
    );
    const refused = outcomes.filter(({ kind }) => kind !== 'measured').map(refusedOf);
    assert.equal(refused.length, 10 * ADDERS - 300);
    for (const { code, details } of refused) {
      assert.equal(code, 'license_not_enough_consumptions');
      assert.deepEqual(details, { left: 0, totalConsumptions: 300, maxConsumptions: 300 });
    }
    assert.equal((await bench.readStanding(license)).total, 300);
    assert.equal(await bench.cutReport(license, 'all'), 300);
  },

  'so it is with a feature, beside others who lend': async (bench: Bench) => {
    const license = await bench.install({ slots: 100 });
    const lending = users(50).map((user) => bench.register(user));
    const totals = totalsOf(await addFromMany(bench, 3, 'export'));
    for (const outcome of await Promise.all(lending)) grantedOf(outcome);
    assert.deepEqual(
      totals.toSorted((a, b) => a - b),
      upTo(100),
    );
    const { total, features } = await bench.readStanding(license);
    assert.deepEqual([total, features[0]?.total], [0, 100]);
  },

  'the same keys from everyone at once count once each': async (bench: Bench) => {
    const license = await bench.install({ consumption: exampleLimits({ max: 1000 }) });
    const keys = users(20, 'key');
    const asked = Array.from({ length: ADDERS }, () => keys).flat();
    const outcomes = await Promise.all(asked.map((key) => bench.consume(3, withKey(key))));
    for (const [index, key] of keys.entries()) {
      const answers = outcomes.filter((_, asked_) => asked_ % keys.length === index);
      for (const answer of answers) assert.deepEqual(answer, answers[0], key);
    }
    assert.equal((await bench.readStanding(license)).total, 3 * keys.length);
    assert.equal((await bench.listEventsOf('consumption_added', license.id)).length, keys.length);
  },
};

export const COUNTING = {
  'a question and a grant tell the same as the count': async (bench: Bench) => {
    const license = await bench.install();
    const { total } = measuredOf(await bench.consume(7));
    measuredOf(await bench.consume(2, { feature: 'export' }));
    await bench.register('ada');
    measuredOf(await bench.registerFeature('ada'));
    const standing = await bench.readStanding(license);
    assert.deepEqual(standing, {
      total: 7,
      features: [
        { code: 'export', total: 2, inUse: 0 },
        { code: 'render', total: 0, inUse: 1 },
      ],
    });
    assert.equal(total, standing.total);
    const granted = grantedOf(await bench.register('ada'));
    assert.deepEqual('standing' in granted && granted.standing, standing);
  },

  'a grant tells every change at once': async (bench: Bench) => {
    const license = await bench.install();
    const told = async () => {
      const { standing } = grantedOf(await bench.register('ada')) as GrantedNow;
      assert.deepEqual(standing, await bench.readStanding(license));
      return standing;
    };
    const first = await told();
    await bench.consume(1);
    assert.notDeepEqual(await told(), first);
    await bench.registerFeature('ada');
    await told();
    await bench.releaseFeature('ada');
    await told();
    await bench.install({ consumption: exampleLimits({ period: 'daily' }) });
    await bench.consume(2);
    assert.equal((await told()).total, 2);
    bench.clock.advance(24 * HOUR_MS);
    assert.equal((await told()).total, 0);
  },

  'a command that throws leaves the meter and the answers as they were': async (bench: Bench) => {
    const license = await bench.install({ slots: 3 });
    await bench.register('ada');
    await bench.registerFeature('ada');
    const broken = 10n as unknown as string;
    const bad = [
      consume(5, { user: broken }),
      consume(5, { user: broken, ...withKey('k') }),
      consume(5, { user: broken, feature: 'export' }),
      { kind: 'release_all_features', licenseId: license.id, by: broken } as const,
      { kind: 'release_all', licenseId: license.id, by: broken } as const,
    ];
    const results = await Promise.allSettled(
      // Between good ones, so that all of them share a batch.
      bad.flatMap((command, n) => [
        bench.execute(command),
        bench.consume(1, withKey(`k${n}`)),
        bench.registerFeature('ada'),
      ]),
    );
    assert.deepEqual(
      results.map(({ status }) => status),
      bad.flatMap(() => ['rejected', 'fulfilled', 'fulfilled']),
    );
    const standing = await bench.readStanding(license);
    assert.equal(standing.total, bad.length);
    assert.deepEqual(standing.features, [
      { code: 'export', total: 0, inUse: 0 },
      { code: 'render', total: 0, inUse: 1 },
    ]);
    assert.equal(await bench.cutReport(license, 'r1'), bad.length);
    assert.equal(measuredOf(await bench.consume(1, withKey('k'))).total, bad.length + 1);
  },

  'a license that shrinks below its total refuses more, and keeps what was counted': async (bench: Bench) => {
    const license = await bench.install({ consumption: exampleLimits() });
    await bench.consume(8);
    await bench.install({ consumption: exampleLimits({ max: 5, allowNegative: true }) });
    const { details } = refusedOf(await bench.consume(1));
    assert.deepEqual(details, { left: 0, totalConsumptions: 8, maxConsumptions: 5 });
    assert.equal(measuredOf(await bench.consume(0)).total, 8);
    assert.equal(measuredOf(await bench.consume(-4)).total, 4);
    assert.equal(measuredOf(await bench.consume(1)).total, 5);
    assert.equal(await bench.cutReport(license, 'r'), 5);
  },

  'absurd counts in many windows leave a license that still answers': async (bench: Bench) => {
    const license = await bench.install({ consumption: exampleLimits({ unlimited: true, period: 'daily' }) });
    const most = Number.MAX_SAFE_INTEGER;
    measuredOf(await bench.consume(most));
    bench.clock.advance(24 * HOUR_MS);
    assert.equal(codeOf(await bench.consume(most)), 'license_not_enough_consumptions');
    await bench.restart();
    grantedOf(await bench.register('ada'));
    assert.equal(await bench.cutReport(license, 'r'), most);
    assert.equal(await bench.settleReport(license, 'r', true), most);
    await bench.restart();
    grantedOf(await bench.register('ada'));
    assert.equal(codeOf(await bench.consume(1)), 'license_not_enough_consumptions');
  },

  'two licenses of one product count apart': async (bench: Bench) => {
    const older = await bench.install({ id: licenseId(1) });
    const newer = await bench.install({ id: licenseId(2) });
    await bench.register('ada', { licenseId: older.id });
    assert.equal(measuredOf(await bench.consume(2, { user: 'ada' })).licenseId, older.id);
    assert.equal(measuredOf(await bench.consume(3, { user: 'bob' })).licenseId, newer.id);
    assert.equal((await bench.readStanding(older)).total, 2);
    assert.equal((await bench.readStanding(newer)).total, 3);
  },
};

export const REPEATED_REQUESTS = {
  'a repeat gets the first answer again, for a day': async (bench: Bench) => {
    const license = await bench.install();
    const first = await bench.consume(4, withKey('k'));
    await bench.consume(1);
    bench.clock.advance(ANSWER_LIFETIME_MS - 1);
    assert.deepEqual(await bench.consume(4, withKey('k')), first);
    assert.equal(codeOf(await bench.consume(5, withKey('k', 'other'))), 'idempotency_key_reused');
    bench.clock.advance(1);
    assert.equal(measuredOf(await bench.consume(4, withKey('k'))).total, 9);
    assert.equal((await bench.readStanding(license)).total, 9);
  },

  'also where the license has become useless meanwhile': async (bench: Bench) => {
    await bench.install();
    const first = await bench.consume(4, withKey('k'));
    await bench.install({ enabled: false });
    assert.deepEqual(await bench.consume(4, withKey('k')), first);
    assert.equal(codeOf(await bench.consume(4, withKey('new'))), 'license_not_enabled');
  },

  'also where another license would be chosen by now': async (bench: Bench) => {
    const older = await bench.install({ id: licenseId(1) });
    const first = await bench.consume(4, { user: 'ada', ...withKey('k') });
    const newer = await bench.install({ id: licenseId(2) });
    await bench.register('ada', { licenseId: newer.id });
    assert.deepEqual(await bench.consume(4, { user: 'ada', ...withKey('k') }), first);
    assert.equal((await bench.readStanding(older)).total, 4);
    assert.equal((await bench.readStanding(newer)).total, 0);
  },

  'a key counts for one operation and one user': async (bench: Bench) => {
    const license = await bench.install();
    await bench.consume(1, withKey('k'));
    await bench.consume(1, { user: 'ada', ...withKey('k') });
    await bench.consume(1, { feature: 'export', ...withKey('k') });
    const { total, features } = await bench.readStanding(license);
    assert.deepEqual([total, features[0]?.total], [2, 1]);
  },

  'a refusal is decided anew': async (bench: Bench) => {
    await bench.install({ consumption: exampleLimits() });
    assert.equal(codeOf(await bench.consume(11, withKey('k'))), 'license_not_enough_consumptions');
    await bench.install({ consumption: exampleLimits({ max: 11 }) });
    assert.equal(measuredOf(await bench.consume(11, withKey('k'))).total, 11);
  },

  'the sweeper forgets what is too old, and nothing else': async (bench: Bench) => {
    const license = await bench.install({ consumption: exampleLimits({ max: 5000 }) });
    const old = users(1100, 'old');
    await Promise.all(old.map((key) => bench.consume(1, withKey(key))));
    bench.clock.advance(1);
    const fresh = await bench.consume(1, withKey('fresh'));
    bench.clock.advance(ANSWER_LIFETIME_MS - 1);
    const untidy = () => bench.store.read({ kind: 'list_untidy' });
    assert.deepEqual(await untidy(), [license.id]);
    const collect = { kind: 'collect', licenseId: license.id } as const;
    assert.deepEqual(await bench.execute(collect), { kind: 'done', count: 1000 });
    assert.deepEqual(await bench.execute(collect), { kind: 'done', count: 100 });
    assert.deepEqual(await untidy(), []);
    assert.deepEqual(await bench.consume(1, withKey('fresh')), fresh);
  },
};

export const WINDOWS = {
  'the last millisecond of a month counts to it, the next one to the new': async (bench: Bench) => {
    const license = await bench.install();
    bench.clock.advance(MONTH_END - NOW);
    assert.equal(measuredOf(await bench.consume(3)).total, 3);
    bench.clock.advance(1);
    assert.equal((await bench.readStanding(license)).total, 0);
    assert.equal(measuredOf(await bench.consume(0)).total, 0);
    assert.equal(measuredOf(await bench.consume(1)).total, 1);
    assert.equal(await bench.cutReport(license, 'r'), 4, 'windows end, what is pending stays');
  },

  'each meter has a window of its own': async (bench: Bench) => {
    const feature = exampleFeature('export', { consumption: exampleLimits({ period: 'daily' }) });
    const license = await bench.install({ features: [feature] });
    for (const code of [null, 'export']) await bench.consume(2, { feature: code });
    bench.clock.advance(24 * HOUR_MS);
    const { total, features } = await bench.readStanding(license);
    assert.deepEqual([total, features[0]?.total], [2, 0]);
  },

  'a clock that is reset finds the total of the right window again': async (bench: Bench) => {
    const license = await bench.install();
    await bench.consume(5);
    await bench.restart(() => bench.clock.setWall(plus(bench.clock.readWall(), YEAR_MS)));
    assert.equal(measuredOf(await bench.consume(2)).total, 2);
    bench.clock.setWall(plus(bench.clock.readWall(), -YEAR_MS));
    await bench.execute(RESET);
    assert.equal((await bench.readStanding(license)).total, 5);
    assert.equal(measuredOf(await bench.consume(1)).total, 6);
    assert.equal(await bench.cutReport(license, 'r'), 8);
  },
};

/** The same cases for a store that was closed and for one that crashed. */
export function countingRestartCases(again: 'restart' | 'crash') {
  return {
    'totals, what is pending and what is on its way': async (bench: Bench) => {
      const license = await bench.install();
      await bench.consume(5);
      await bench.consume(2, { feature: 'export' });
      await bench.cutReport(license, 'a');
      await bench.consume(1);
      const before = await bench.readStanding(license);
      await bench[again]();
      assert.deepEqual(await bench.readStanding(license), before);
      assert.equal(await bench.settleReport(license, 'a', false), 5);
      assert.equal(await bench.cutReport(license, 'b'), 6);
      assert.equal(await bench.cutReport(license, 'c', 'export'), 2);
    },

    'first answers, and what was refused': async (bench: Bench) => {
      const license = await bench.install({ consumption: exampleLimits() });
      const first = await bench.consume(9, withKey('k'));
      assert.equal(codeOf(await bench.consume(9)), 'license_not_enough_consumptions');
      await bench[again]();
      assert.deepEqual(await bench.consume(9, withKey('k')), first);
      assert.equal(codeOf(await bench.consume(9, withKey('k', 'other'))), 'idempotency_key_reused');
      assert.equal(codeOf(await bench.consume(9)), 'license_not_enough_consumptions');
      assert.equal((await bench.listEventsOf('consumption_denied', license.id)).length, 1);
    },

    'the month may end meanwhile': async (bench: Bench) => {
      const license = await bench.install();
      bench.clock.advance(MONTH_END - NOW);
      await bench.consume(3);
      await bench[again](() => bench.clock.advance(1));
      assert.equal((await bench.readStanding(license)).total, 0);
      assert.equal(measuredOf(await bench.consume(1)).total, 1);
      assert.equal(await bench.cutReport(license, 'r'), 4);
    },
  };
}
