import { describe, test } from 'node:test';
import { Bench, type OpenStore } from './exercise-bench.ts';
import { ACCEPTED_CLOCK, RESET_CLOCK, RUNNING_CLOCK } from './exercise-clock.ts';
import { CONTENTION } from './exercise-contention.ts';
import { LENDING } from './exercise-lending.ts';
import { ACCOUNTS, ISOLATION, LICENSES } from './exercise-licenses.ts';
import { restartCases } from './exercise-restart.ts';
import { expectSound } from './exercise-soundness.ts';

type Chapter = Readonly<Record<string, (bench: Bench) => Promise<void>>>;

const EXAM: Readonly<Record<string, Chapter>> = {
  'many at once': CONTENTION,
  'slots come and go': LENDING,
  'licenses change': LICENSES,
  'failures stay alone': ISOLATION,
  accounts: ACCOUNTS,
  'opened again after it was closed': restartCases('restart'),
  'opened again after a crash': restartCases('crash'),
  'the clock while running': RUNNING_CLOCK,
  'a clock that is followed': ACCEPTED_CLOCK,
  'a clock that is reset': RESET_CLOCK,
};

/**
 * The one exam for every store: each guarantee of `store.ts`. After every case the whole store must be sound.
 */
export function exerciseStore(name: string, open: OpenStore): void {
  examine(name, EXAM, open);
}

/** The part that asks for no clock of its own, for stores that run on the machine's. */
export function exerciseContention(name: string, open: OpenStore): void {
  examine(name, { 'many at once': CONTENTION }, open);
}

function examine(name: string, exam: Readonly<Record<string, Chapter>>, open: OpenStore): void {
  describe(name, () => {
    for (const [title, chapter] of Object.entries(exam)) {
      describe(title, () => {
        for (const [caseTitle, run] of Object.entries(chapter)) {
          test(caseTitle, () => examineCase(run, open));
        }
      });
    }
  });
}

async function examineCase(run: (bench: Bench) => Promise<void>, open: OpenStore): Promise<void> {
  const bench = await Bench.start(open);
  try {
    await run(bench);
    await expectSound(bench.store);
  } finally {
    await bench.end();
  }
}
