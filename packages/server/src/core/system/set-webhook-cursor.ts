import { unchanged } from '../decision.ts';
import { isAfter } from '../nouns/audit-position.ts';
import type { SetWebhookCursor } from '../system-command.ts';
import { ON_SERVER, type SystemFacts, type SystemModule } from '../system-module.ts';

/** Never moves back: a former leader may be late, and others have passed what it has delivered. */
export const setWebhookCursor = {
  ...ON_SERVER,

  decide({ position, isFirst = false }, { webhookCursor }: Pick<SystemFacts, 'webhookCursor'>) {
    if (webhookCursor !== null && (isFirst || !isAfter(position, webhookCursor))) return unchanged();
    return {
      ...unchanged({ kind: 'done', count: 1 }),
      changes: [{ kind: 'set_webhook_cursor', position }],
    };
  },
} satisfies SystemModule<SetWebhookCursor>;
