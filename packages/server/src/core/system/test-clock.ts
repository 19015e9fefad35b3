import { unchanged } from '../decision.ts';
import { plus } from '../nouns/instant.ts';
import type { License } from '../nouns/license.ts';
import { type Refused, refuse } from '../outcome.ts';
import type { AdvanceTestClock, StartTestClock } from '../system-command.ts';
import type { SystemFacts, SystemModule } from '../system-module.ts';

type TestFacts = Pick<SystemFacts, 'licenses' | 'testClockMs'>;

/** Removed licenses count too: what was borrowed from them may still be out. */
export const startTestClock = {
  scope: 'all',
  needs: () => ({ licenses: true }),

  decide(_, { licenses, testClockMs }: TestFacts) {
    const refusal = refuseReal(licenses);
    if (refusal !== null) return unchanged(refusal);
    const outcome = { kind: 'done', count: 1 } as const;
    if (testClockMs !== null) return unchanged(outcome);
    return {
      outcome,
      changes: [{ kind: 'set_test_clock', aheadMs: 0 }],
      events: [{ kind: 'test_clock_started' }],
    };
  },
} satisfies SystemModule<StartTestClock>;

/**
 * Nothing is extended: it is as if the server had run all the time, and heard nothing. This leaves no event,
 * because tests do it every simulated minute.
 */
export const advanceTestClock = {
  scope: 'all',
  needs: () => ({ licenses: true }),

  decide({ millis }, { licenses, testClockMs }: TestFacts, now) {
    const refusal = refuseReal(licenses);
    if (testClockMs === null || refusal !== null) return unchanged(refusal ?? refuseUntested());
    return {
      outcome: { kind: 'done', count: 1 },
      changes: [
        { kind: 'set_test_clock', aheadMs: testClockMs + millis },
        { kind: 'move_clock', to: plus(now, millis) },
      ],
      events: [],
    };
  },
} satisfies SystemModule<AdvanceTestClock>;

export function refuseUntested(): Refused {
  return refuse(
    'test_clock_off',
    'This server has no test clock. Start one with --test-clock, on a data folder of its own.',
  );
}

function refuseReal(licenses: readonly License[]): Refused | null {
  const real = licenses.find(isReal);
  if (real === undefined) return null;
  return refuse(
    'test_clock_off',
    `There is a real license of "${real.product}" here, so the time cannot be moved.`,
  );
}

/** Why a license cannot be installed beside a test clock; `null`: it can, or there is none. */
export function refuseBesideTestClock(license: License, testClockMs: number | null): Refused | null {
  if (testClockMs === null || !isReal(license)) return null;
  return refuse(
    'test_clock_on',
    'This server is for tests (--test-clock) and takes no real licenses. Use another server for this one.',
  );
}

function isReal({ source }: License): boolean {
  return source !== 'demo';
}
