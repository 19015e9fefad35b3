/** What Berth promises, as `docs/reliability.md` numbers it. */
export const PROMISES = {
  1: 'Never more slots are lent than a license has, at any instant, unless it is reduced below its use.',
  2: 'Every acknowledged change survives a crash.',
  3: 'Each accepted count is added exactly once, and a total never exceeds its maximum plus overage.',
  4: 'No slot ends early, and a slot that is not renewed is free on time.',
  5: 'Every audited change has exactly one event, and the audit chain verifies.',
  6: 'SQLite, PostgreSQL and a naive model give identical answers to every history.',
} as const;

export type PromiseNumber = keyof typeof PROMISES;
