import assert from 'node:assert/strict';
import { ANSWER_LIFETIME_MS } from '../../../src/core/lending/repeat-answer.ts';
import { HOUR_MS, instant, plus } from '../../../src/core/nouns/instant.ts';
import { licenseId } from '../../../src/core/nouns/license.ts';
import type { Outcome } from '../../../src/core/outcome.ts';
import type { GrantedNow } from '../../../src/store/store.ts';
import { consume, exampleFeature, exampleLimits, NOW } from '../../core/examples.ts';
import { codeOf, type ExamStore, grantedOf, measuredOf, refusedOf, users } from './exam-store.ts';

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
async function addFromMany(exam: ExamStore, times: number, feature: string | null): Promise<Outcome[]> {
  const add = async (user: string) => {
    const outcomes: Outcome[] = [];
    for (let n = 0; n < times; n++) outcomes.push(await exam.consume(1, { user, feature }));
    return outcomes;
  };
  return (await Promise.all(users(ADDERS).map(add))).flat();
}

export const COUNTING_AT_ONCE = {
  'sixty-four callers reach the limit exactly, and no answer shows more': async (exam: ExamStore) => {
    const license = await exam.install({ consumption: exampleLimits({ max: 300 }) });
    const outcomes = await addFromMany(exam, 10, null);
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
    assert.equal((await exam.readTotals(license)).total, 300);
    assert.equal(await exam.cutReport(license, 'all'), 300);
  },

  'the same with a feature, while others lend': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 100 });
    const lending = users(50).map((user) => exam.register(user));
    const totals = totalsOf(await addFromMany(exam, 3, 'export'));
    for (const outcome of await Promise.all(lending)) grantedOf(outcome);
    assert.deepEqual(
      totals.toSorted((a, b) => a - b),
      upTo(100),
    );
    const { total, features } = await exam.readTotals(license);
    assert.deepEqual([total, features[0]?.total], [0, 100]);
  },

  'the same keys from everyone at once count once each': async (exam: ExamStore) => {
    const license = await exam.install({ consumption: exampleLimits({ max: 1000 }) });
    const keys = users(20, 'key');
    const asked = Array.from({ length: ADDERS }, () => keys).flat();
    const outcomes = await Promise.all(asked.map((key) => exam.consume(3, withKey(key))));
    for (const [index, key] of keys.entries()) {
      const answers = outcomes.filter((_, asked_) => asked_ % keys.length === index);
      for (const answer of answers) assert.deepEqual(answer, answers[0], key);
    }
    assert.equal((await exam.readTotals(license)).total, 3 * keys.length);
    assert.equal((await exam.listEventsOf('consumption_added', license.id)).length, keys.length);
  },
};

export const COUNTING = {
  'a query and a grant show the same as the count': async (exam: ExamStore) => {
    const license = await exam.install();
    const { total } = measuredOf(await exam.consume(7));
    measuredOf(await exam.consume(2, { feature: 'export' }));
    await exam.register('ada');
    measuredOf(await exam.registerFeature('ada'));
    const totals = await exam.readTotals(license);
    assert.deepEqual(totals, {
      total: 7,
      features: [
        { code: 'export', total: 2, inUse: 0 },
        { code: 'render', total: 0, inUse: 1 },
      ],
    });
    assert.equal(total, totals.total);
    const granted = grantedOf(await exam.register('ada'));
    assert.deepEqual('totals' in granted && granted.totals, totals);
  },

  'a grant shows every change at once': async (exam: ExamStore) => {
    const license = await exam.install();
    const told = async () => {
      const { totals } = grantedOf(await exam.register('ada')) as GrantedNow;
      assert.deepEqual(totals, await exam.readTotals(license));
      return totals;
    };
    const first = await told();
    await exam.consume(1);
    assert.notDeepEqual(await told(), first);
    await exam.registerFeature('ada');
    await told();
    await exam.releaseFeature('ada');
    await told();
    await exam.install({ consumption: exampleLimits({ period: 'daily' }) });
    await exam.consume(2);
    assert.equal((await told()).total, 2);
    exam.clock.advance(24 * HOUR_MS);
    assert.equal((await told()).total, 0);
  },

  'a command that throws leaves the meter and the answers unchanged': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 3 });
    await exam.register('ada');
    await exam.registerFeature('ada');
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
        exam.execute(command),
        exam.consume(1, withKey(`k${n}`)),
        exam.registerFeature('ada'),
      ]),
    );
    assert.deepEqual(
      results.map(({ status }) => status),
      bad.flatMap(() => ['rejected', 'fulfilled', 'fulfilled']),
    );
    const totals = await exam.readTotals(license);
    assert.equal(totals.total, bad.length);
    assert.deepEqual(totals.features, [
      { code: 'export', total: 0, inUse: 0 },
      { code: 'render', total: 0, inUse: 1 },
    ]);
    assert.equal(await exam.cutReport(license, 'r1'), bad.length);
    assert.equal(measuredOf(await exam.consume(1, withKey('k'))).total, bad.length + 1);
  },

  'a license that shrinks below its total refuses more, and keeps its total': async (exam: ExamStore) => {
    const license = await exam.install({ consumption: exampleLimits() });
    await exam.consume(8);
    await exam.install({ consumption: exampleLimits({ max: 5, allowNegative: true }) });
    const { details } = refusedOf(await exam.consume(1));
    assert.deepEqual(details, { left: 0, totalConsumptions: 8, maxConsumptions: 5 });
    assert.equal(measuredOf(await exam.consume(0)).total, 8);
    assert.equal(measuredOf(await exam.consume(-4)).total, 4);
    assert.equal(measuredOf(await exam.consume(1)).total, 5);
    assert.equal(await exam.cutReport(license, 'r'), 5);
  },

  'absurd counts in many windows leave a license that still answers': async (exam: ExamStore) => {
    const license = await exam.install({ consumption: exampleLimits({ unlimited: true, period: 'daily' }) });
    const most = Number.MAX_SAFE_INTEGER;
    measuredOf(await exam.consume(most));
    exam.clock.advance(24 * HOUR_MS);
    assert.equal(codeOf(await exam.consume(most)), 'license_not_enough_consumptions');
    await exam.restart();
    grantedOf(await exam.register('ada'));
    assert.equal(await exam.cutReport(license, 'r'), most);
    assert.equal(await exam.settleReport(license, 'r', true), most);
    await exam.restart();
    grantedOf(await exam.register('ada'));
    assert.equal(codeOf(await exam.consume(1)), 'license_not_enough_consumptions');
  },

  'two licenses of one product count separately': async (exam: ExamStore) => {
    const older = await exam.install({ id: licenseId(1) });
    const newer = await exam.install({ id: licenseId(2) });
    await exam.register('ada', { licenseId: older.id });
    assert.equal(measuredOf(await exam.consume(2, { user: 'ada' })).licenseId, older.id);
    assert.equal(measuredOf(await exam.consume(3, { user: 'bob' })).licenseId, newer.id);
    assert.equal((await exam.readTotals(older)).total, 2);
    assert.equal((await exam.readTotals(newer)).total, 3);
  },
};

export const REPEATED_REQUESTS = {
  'a repeat gets the first answer again, for a day': async (exam: ExamStore) => {
    const license = await exam.install();
    const first = await exam.consume(4, withKey('k'));
    await exam.consume(1);
    exam.clock.advance(ANSWER_LIFETIME_MS - 1);
    assert.deepEqual(await exam.consume(4, withKey('k')), first);
    assert.equal(codeOf(await exam.consume(5, withKey('k', 'other'))), 'idempotency_key_reused');
    exam.clock.advance(1);
    assert.equal(measuredOf(await exam.consume(4, withKey('k'))).total, 9);
    assert.equal((await exam.readTotals(license)).total, 9);
  },

  'even if the license has become unusable meanwhile': async (exam: ExamStore) => {
    await exam.install();
    const first = await exam.consume(4, withKey('k'));
    await exam.install({ enabled: false });
    assert.deepEqual(await exam.consume(4, withKey('k')), first);
    assert.equal(codeOf(await exam.consume(4, withKey('new'))), 'license_not_enabled');
  },

  'even if another license would be chosen now': async (exam: ExamStore) => {
    const older = await exam.install({ id: licenseId(1) });
    const first = await exam.consume(4, { user: 'ada', ...withKey('k') });
    const newer = await exam.install({ id: licenseId(2) });
    await exam.register('ada', { licenseId: newer.id });
    assert.deepEqual(await exam.consume(4, { user: 'ada', ...withKey('k') }), first);
    assert.equal((await exam.readTotals(older)).total, 4);
    assert.equal((await exam.readTotals(newer)).total, 0);
  },

  'a key counts for one operation and one user': async (exam: ExamStore) => {
    const license = await exam.install();
    await exam.consume(1, withKey('k'));
    await exam.consume(1, { user: 'ada', ...withKey('k') });
    await exam.consume(1, { feature: 'export', ...withKey('k') });
    const { total, features } = await exam.readTotals(license);
    assert.deepEqual([total, features[0]?.total], [2, 1]);
  },

  'a refusal is decided again': async (exam: ExamStore) => {
    await exam.install({ consumption: exampleLimits() });
    assert.equal(codeOf(await exam.consume(11, withKey('k'))), 'license_not_enough_consumptions');
    await exam.install({ consumption: exampleLimits({ max: 11 }) });
    assert.equal(measuredOf(await exam.consume(11, withKey('k'))).total, 11);
  },

  'a count of 0 is remembered like any other': async (exam: ExamStore) => {
    const license = await exam.install();
    await exam.consume(4);
    await exam.consume(2, { feature: 'export' });
    const first = await exam.consume(0, withKey('k'));
    const ofFeature = await exam.consume(0, { feature: 'export', ...withKey('k') });
    await exam.consume(1);
    await exam.consume(1, { feature: 'export' });
    await exam.restart();
    assert.deepEqual(await exam.consume(0, withKey('k')), first);
    assert.deepEqual(await exam.consume(0, { feature: 'export', ...withKey('k') }), ofFeature);
    assert.equal(codeOf(await exam.consume(3, withKey('k', 'other'))), 'idempotency_key_reused');
    assert.equal((await exam.readTotals(license)).total, 5);
    assert.equal((await exam.listEventsOf('consumption_added', license.id)).length, 4);
  },

  'the sweeper removes what is too old, and nothing else': async (exam: ExamStore) => {
    const license = await exam.install({ consumption: exampleLimits({ max: 5000 }) });
    const old = users(1100, 'old');
    await Promise.all(old.map((key) => exam.consume(1, withKey(key))));
    exam.clock.advance(1);
    const fresh = await exam.consume(1, withKey('fresh'));
    exam.clock.advance(ANSWER_LIFETIME_MS - 1);
    const untidy = () => exam.store.read({ kind: 'list_untidy' });
    assert.deepEqual(await untidy(), [license.id]);
    const collect = { kind: 'collect', licenseId: license.id } as const;
    assert.deepEqual(await exam.execute(collect), { kind: 'done', count: 1000 });
    assert.deepEqual(await exam.execute(collect), { kind: 'done', count: 100 });
    assert.deepEqual(await untidy(), []);
    assert.deepEqual(await exam.consume(1, withKey('fresh')), fresh);
  },
};

export const WINDOWS = {
  'the last millisecond of a month counts for it, the next one for the new one': async (exam: ExamStore) => {
    const license = await exam.install();
    exam.clock.advance(MONTH_END - NOW);
    assert.equal(measuredOf(await exam.consume(3)).total, 3);
    exam.clock.advance(1);
    assert.equal((await exam.readTotals(license)).total, 0);
    assert.equal(measuredOf(await exam.consume(0)).total, 0);
    assert.equal(measuredOf(await exam.consume(1)).total, 1);
    assert.equal(await exam.cutReport(license, 'r'), 4, 'windows end, what is pending stays');
  },

  'each meter has its own window': async (exam: ExamStore) => {
    const feature = exampleFeature('export', { consumption: exampleLimits({ period: 'daily' }) });
    const license = await exam.install({ features: [feature] });
    for (const code of [null, 'export']) await exam.consume(2, { feature: code });
    exam.clock.advance(24 * HOUR_MS);
    const { total, features } = await exam.readTotals(license);
    assert.deepEqual([total, features[0]?.total], [2, 0]);
  },

  'a clock reset finds the total of the right window again': async (exam: ExamStore) => {
    const license = await exam.install();
    await exam.consume(5);
    await exam.restart(() => exam.clock.setWall(plus(exam.clock.readWall(), YEAR_MS)));
    assert.equal(measuredOf(await exam.consume(2)).total, 2);
    exam.clock.setWall(plus(exam.clock.readWall(), -YEAR_MS));
    await exam.execute(RESET);
    assert.equal((await exam.readTotals(license)).total, 5);
    assert.equal(measuredOf(await exam.consume(1)).total, 6);
    assert.equal(await exam.cutReport(license, 'r'), 8);
  },
};

/** The same cases for a store that was closed and for one that crashed. */
export function countingRestartCases(again: 'restart' | 'crash') {
  return {
    'totals, pending amounts and reports under way': async (exam: ExamStore) => {
      const license = await exam.install();
      await exam.consume(5);
      await exam.consume(2, { feature: 'export' });
      await exam.cutReport(license, 'a');
      await exam.consume(1);
      const before = await exam.readTotals(license);
      await exam[again]();
      assert.deepEqual(await exam.readTotals(license), before);
      assert.equal(await exam.settleReport(license, 'a', false), 5);
      assert.equal(await exam.cutReport(license, 'b'), 6);
      assert.equal(await exam.cutReport(license, 'c', 'export'), 2);
    },

    'first answers, and refusals': async (exam: ExamStore) => {
      const license = await exam.install({ consumption: exampleLimits() });
      const first = await exam.consume(9, withKey('k'));
      assert.equal(codeOf(await exam.consume(9)), 'license_not_enough_consumptions');
      await exam[again]();
      assert.deepEqual(await exam.consume(9, withKey('k')), first);
      assert.equal(codeOf(await exam.consume(9, withKey('k', 'other'))), 'idempotency_key_reused');
      assert.equal(codeOf(await exam.consume(9)), 'license_not_enough_consumptions');
      assert.equal((await exam.listEventsOf('consumption_denied', license.id)).length, 1);
    },

    'the month may end meanwhile': async (exam: ExamStore) => {
      const license = await exam.install();
      exam.clock.advance(MONTH_END - NOW);
      await exam.consume(3);
      await exam[again](() => exam.clock.advance(1));
      assert.equal((await exam.readTotals(license)).total, 0);
      assert.equal(measuredOf(await exam.consume(1)).total, 1);
      assert.equal(await exam.cutReport(license, 'r'), 4);
    },
  };
}
