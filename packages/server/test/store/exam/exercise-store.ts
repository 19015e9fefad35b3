import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { COMMAND_KINDS } from '../../../src/core/decide.ts';
import { ACCOUNTS } from './accounts.ts';
import { backupCases } from './backups.ts';
import { BARS, barRestartCases } from './bars.ts';
import { ACCEPTED_CLOCK, RESET_CLOCK, RUNNING_CLOCK } from './clock.ts';
import { CLOUD_TOTALS, MACHINES, REPORTS, removalCases, VERDICTS } from './cloud.ts';
import { CONTENTION } from './contention.ts';
import { COUNTED, COUNTED_BY_TWO, COUNTED_NAMES, countedRestartCases } from './counted-slots.ts';
import { COUNTING, COUNTING_AT_ONCE, countingRestartCases, REPEATED_REQUESTS, WINDOWS } from './counting.ts';
import { DATABASE_CLOCK } from './database-clock.ts';
import { DRY_RUNS } from './dry-runs.ts';
import { ExamStore, type OpenStore } from './exam-store.ts';
import { FEATURE_CLOCK, FEATURES, FEATURES_AT_ONCE, featureRestartCases } from './features.ts';
import { fileCases, ownFileCases } from './files.ts';
import { grantKeyCases } from './grant-keys.ts';
import { HISTORY } from './history.ts';
import { LENDING } from './lending.ts';
import { ISOLATION, LICENSES } from './licenses.ts';
import { LISTS } from './lists.ts';
import { MANY_PRODUCTS, MANY_PRODUCTS_OF_TWO } from './many-products.ts';
import { IGNORED_CASE } from './names.ts';
import { noticeCases } from './notices.ts';
import { ONE_ORDER } from './one-order.ts';
import { ORIGINS } from './origins.ts';
import { PAUSED, PAUSED_ALONE } from './paused.ts';
import { POOLS, POOLS_AT_ONCE, poolRestartCases } from './pools.ts';
import { PROGRAMS, programRestartCases } from './programs.ts';
import { RECORDED_WAITS, RECORDED_WAITS_ON_TWO } from './recorded-waits.ts';
import { RENEWALS, renewalRestartCases } from './renewals.ts';
import { REPEATED_CALLS } from './repeated-calls.ts';
import { replacedCases } from './replaced.ts';
import { RESERVED } from './reservations.ts';
import { restartCases, wallClockCases } from './restart.ts';
import { RESTORED_BORROWS } from './restored-borrows.ts';
import { RULES, rulesRestartCases } from './rules.ts';
import { SECOND_FACTORS } from './second-factors.ts';
import { settingCases } from './settings.ts';
import { FOLLOWED, LIMITED } from './slot-limits.ts';
import { expectSound } from './soundness.ts';
import { TEST_CLOCK, TEST_CLOCK_ALONE } from './test-clock.ts';
import { TWO_SERVERS } from './two-servers.ts';
import { unboundCases } from './unbound.ts';
import { UNSEEN_SLOTS, UNSEEN_SLOTS_ON_TWO } from './unseen-slots.ts';
import { WAITING, WAITING_ON_TWO } from './waiting.ts';
import { WAITING_FOR_FEATURES } from './waiting-for-features.ts';

type Chapter = Readonly<Record<string, (exam: ExamStore) => Promise<void>>>;

/** Inspects the folder of a store for what no query shows. */
type Inspect = (folder: string) => Promise<void>;

const EXAM: Readonly<Record<string, Chapter>> = {
  'many at once': CONTENTION,
  'slots come and go': LENDING,
  'slots are renewed': RENEWALS,
  'renewed slots after a close': renewalRestartCases('restart'),
  'renewed slots after a crash': renewalRestartCases('crash'),
  'several programs of one user': PROGRAMS,
  'their programs after a close': programRestartCases('restart'),
  'their programs after a crash': programRestartCases('crash'),
  'the history of use': HISTORY,
  'where slots were taken from': ORIGINS,
  'users whose names differ only in case': IGNORED_CASE,
  'waiting in line': WAITING,
  'repeated calls that are kept a place in line': REPEATED_CALLS,
  'slots that were lent to users in line, and not fetched': UNSEEN_SLOTS,
  'waiting in line for features': WAITING_FOR_FEATURES,
  'how long users waited': RECORDED_WAITS,
  'lists of slots': LISTS,
  'licenses change': LICENSES,
  'pools of licenses': POOLS,
  'many who want a slot of a pool': POOLS_AT_ONCE,
  'pools after a close': poolRestartCases('restart'),
  'pools after a crash': poolRestartCases('crash'),
  'failures stay alone': ISOLATION,
  'many products at once': MANY_PRODUCTS,
  'dry runs': DRY_RUNS,
  'rules of the administrator': RULES,
  'rules after a close': rulesRestartCases('restart'),
  'rules after a crash': rulesRestartCases('crash'),
  'slots that are reserved': RESERVED,
  'slots that are limited': LIMITED,
  'holders who call from elsewhere': FOLLOWED,
  'slots that rules count': COUNTED,
  'slots that rules count, after a close': countedRestartCases('restart'),
  'slots that rules count, after a crash': countedRestartCases('crash'),
  'slots that rules count, by other names': COUNTED_NAMES,
  bars: BARS,
  'bars after a close': barRestartCases('restart'),
  'bars after a crash': barRestartCases('crash'),
  'settings after a close': settingCases('restart'),
  'settings after a crash': settingCases('crash'),
  accounts: ACCOUNTS,
  'second factors': SECOND_FACTORS,
  'opened again after it was closed': restartCases('restart'),
  'opened again after a crash': restartCases('crash'),
  'going on after a pause': PAUSED,
  'many who count at once': COUNTING_AT_ONCE,
  counting: COUNTING,
  'requests that are repeated': REPEATED_REQUESTS,
  'windows of counting': WINDOWS,
  'reports to the vendor': REPORTS,
  'totals of the cloud': CLOUD_TOTALS,
  'what the cloud says about a license': VERDICTS,
  'other machines': MACHINES,
  'licenses that were removed, after a close': removalCases('restart'),
  'licenses that were removed, after a crash': removalCases('crash'),
  'licenses under another id, after a close': replacedCases('restart'),
  'licenses under another id, after a crash': replacedCases('crash'),
  'licenses in files, after a close': fileCases('restart'),
  'licenses in files, after a crash': fileCases('crash'),
  "the server's own files, after a close": ownFileCases('restart'),
  "the server's own files, after a crash": ownFileCases('crash'),
  'answers that may be old, after a close': unboundCases('restart'),
  'answers that may be old, after a crash': unboundCases('crash'),
  'what was told, after a close': noticeCases('restart'),
  'what was told, after a crash': noticeCases('crash'),
  'keys of grants, after a close': grantKeyCases('restart'),
  'keys of grants, after a crash': grantKeyCases('crash'),
  'backups, after a close': backupCases('restart'),
  'backups, after a crash': backupCases('crash'),
  'counting goes on after a close': countingRestartCases('restart'),
  'counting goes on after a crash': countingRestartCases('crash'),
  'many who want a feature at once': FEATURES_AT_ONCE,
  'feature slots come and go': FEATURES,
  'feature slots and the clock': FEATURE_CLOCK,
  'feature slots after a close': featureRestartCases('restart'),
  'borrows that a wrong clock ended': RESTORED_BORROWS,
  'a test clock': TEST_CLOCK,
  'feature slots after a crash': featureRestartCases('crash'),
};

/** For a store of one server: the machine's clocks count, and all commands have one order. */
const ALONE: Readonly<Record<string, Chapter>> = {
  'the order of all commands': ONE_ORDER,
  'the wall clock, after a close': wallClockCases('restart'),
  'the wall clock, after a crash': wallClockCases('crash'),
  'the clock while running': RUNNING_CLOCK,
  'pauses and clocks': PAUSED_ALONE,
  'a clock that is followed': ACCEPTED_CLOCK,
  'a clock that is reset': RESET_CLOCK,
  'a test clock that goes on': TEST_CLOCK_ALONE,
};

/** For a store that several servers share: the clock of the database counts. */
const SHARED: Readonly<Record<string, Chapter>> = {
  'the clock of the database': DATABASE_CLOCK,
  'two servers': TWO_SERVERS,
  'slots that two servers count': COUNTED_BY_TWO,
  'one line of two servers': WAITING_ON_TWO,
  'slots that were lent to users in line of two servers, and not fetched': UNSEEN_SLOTS_ON_TWO,
  'how long users of two servers waited': RECORDED_WAITS_ON_TWO,
  'many products of two servers': MANY_PRODUCTS_OF_TWO,
};

/**
 * Tests every guarantee of `store.ts`, the same for all stores. After every case the whole store must be
 * sound. Further cases depend on whether one server has it `alone`, or several share it.
 */
export function exerciseStore(
  name: string,
  open: OpenStore,
  { servers, inspect }: { readonly servers: 'alone' | 'several'; readonly inspect: Inspect },
): void {
  const executed = new Set<string>();
  examine(name, { ...EXAM, ...(servers === 'alone' ? ALONE : SHARED) }, noteKinds(open, executed), inspect);
  test(`${name} was examined with every kind of command`, () => {
    assert.deepEqual(new Set(COMMAND_KINDS).difference(executed), new Set());
  });
}

/** Adds the kind of every command that the store executes. */
function noteKinds(open: OpenStore, executed: Set<string>): OpenStore {
  return async (options) => {
    const store = await open(options);
    const execute = store.execute.bind(store);
    store.execute = (command) => {
      // Some cases send something that is not a command.
      if (command !== null) executed.add(command.kind);
      return execute(command);
    };
    return store;
  };
}

/** The cases that set no clock, for stores that run on the machine's. */
export function exerciseContention(name: string, open: OpenStore): void {
  const exam = {
    'many at once': CONTENTION,
    'many who want a slot of a pool': POOLS_AT_ONCE,
    'many who count at once': COUNTING_AT_ONCE,
    'many who want a feature at once': FEATURES_AT_ONCE,
  };
  examine(name, exam, open, async () => {});
}

function examine(
  name: string,
  exam: Readonly<Record<string, Chapter>>,
  open: OpenStore,
  inspect: Inspect,
): void {
  describe(name, () => {
    for (const [title, chapter] of Object.entries(exam)) {
      describe(title, () => {
        for (const [caseTitle, run] of Object.entries(chapter)) {
          test(caseTitle, () => examineCase(run, open, inspect));
        }
      });
    }
  });
}

async function examineCase(
  run: (exam: ExamStore) => Promise<void>,
  open: OpenStore,
  inspect: Inspect,
): Promise<void> {
  const exam = await ExamStore.start(open);
  try {
    await run(exam);
    await expectSound(exam.store);
    await inspect(exam.folder);
  } finally {
    await exam.end();
  }
}
