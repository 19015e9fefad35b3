import type { ThinHistory } from '../command.ts';
import { type CommandModule, ON_LICENSE } from '../command-module.ts';

/** Totals do not change, so nothing is audited. */
export const thinHistory = {
  ...ON_LICENSE,
  mayBeRemoved: () => true,
  decide: ({ step }) => ({
    outcome: { kind: 'done', count: 1 },
    changes: [{ kind: 'thin_history', step }],
    events: [],
  }),
} satisfies CommandModule<ThinHistory>;
