import { z } from 'zod';
import { described } from '../fields.ts';
import type { Operations } from './operation.ts';

/** Those that the page shows; the others are in `docs/settings.md`. */
const settings = z.looseObject({
  page: described(
    z.looseObject({
      name: described(z.string(), 'The name on the page; empty: Berth.'),
      logo: described(z.string(), 'The file with its logo; empty: that of Berth.'),
    }),
    "The administrator's page.",
  ),
  webhooks: described(
    z.looseObject({ url: described(z.string(), 'Where events are sent; empty: nowhere.') }),
    'The delivery of events.',
  ),
});

export const SETTING_API = {
  'GET /api/admin/settings': { answer: z.object({ settings: described(settings, 'By their names.') }) },
} as const satisfies Operations;
