import { z } from 'zod';
import { told } from '../fields.ts';
import type { Operations } from './operation.ts';

/** Those that the page shows; the others are in `docs/settings.md`. */
const settings = z.looseObject({
  page: told(
    z.looseObject({
      name: told(z.string(), 'The name on the page; empty: Berth.'),
      logo: told(z.string(), 'The file with its logo; empty: that of Berth.'),
    }),
    "The administrator's page.",
  ),
  webhooks: told(
    z.looseObject({ url: told(z.string(), 'Where events are sent; empty: nowhere.') }),
    'The delivery of events.',
  ),
});

export const SETTING_API = {
  'GET /api/admin/settings': { answer: z.object({ settings: told(settings, 'By their names.') }) },
} as const satisfies Operations;
