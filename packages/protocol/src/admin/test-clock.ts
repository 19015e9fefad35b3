import { z } from 'zod';
import { described, name, positiveInteger } from '../fields.ts';
import { clockStatus } from './clock.ts';
import type { Operations } from './operation.ts';

/** Real applications do not ask for products with such names. */
export const TEST_PRODUCT_PREFIX = 'test-';

const product = described(name, `The product code, which starts with "${TEST_PRODUCT_PREFIX}".`);

export const TEST_CLOCK_API = {
  'POST /api/admin/test-clock/advance': {
    body: z
      .object({ by: described(name, 'How far: 30s, 90m, 24h, 30d, 2w.') })
      .meta({ examples: [{ by: '30d' }] }),
    required: ['by'],
    answer: clockStatus,
  },
  'POST /api/admin/test-clock/license': {
    body: z
      .object({
        product,
        slots: described(positiveInteger, 'By default 5.'),
        timeout_minutes: described(positiveInteger, 'By default 10.'),
        max_borrow_hours: described(positiveInteger, 'By default 168.'),
      })
      .meta({ examples: [{ product: 'test-cad', slots: 20, max_borrow_hours: 720 }] }),
    required: ['product'],
    answer: z.object({ license_id: described(z.int(), 'Its id.') }),
  },
} as const satisfies Operations;
