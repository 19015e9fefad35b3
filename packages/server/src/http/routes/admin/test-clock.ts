import { TEST_CLOCK_API, TEST_PRODUCT_PREFIX } from '@berth/protocol/admin/test-clock';
import { parseLength } from '@berth/protocol/moment';
import { RequestError } from '@berth/protocol/request-error';
import type { Oversight } from '../../../services/lending/oversight.ts';
import type { TestClock } from '../../../services/lending/test-clock.ts';
import { adminRoutes } from '../../admin-route.ts';
import type { Route } from '../../route.ts';
import { presentClock } from './clock.ts';

interface TestServices {
  readonly oversight: Oversight;
  readonly testClock: TestClock;
}

export function testClockRoutes({ oversight, testClock }: TestServices): readonly Route[] {
  return adminRoutes(TEST_CLOCK_API, {
    'POST /api/admin/test-clock/advance': {
      name: 'admin_test_clock_advance',
      access: 'admin',
      summary: 'Let time pass on a server with a test clock',
      errors: ['test_clock_off'],
      handle: async ({ body }, send) => {
        const outcome = await testClock.advance(readLength(body.by));
        if (outcome.kind === 'refused') return outcome;
        return send(presentClock(await oversight.readClock()));
      },
    },
    'POST /api/admin/test-clock/license': {
      name: 'admin_test_clock_license',
      access: 'admin',
      summary: 'Make a license up, or change one, on a server with a test clock',
      errors: ['test_clock_off'],
      handle: async ({ body }, send) => {
        const { product, slots, timeout_minutes: timeoutMinutes, max_borrow_hours: maxBorrowHours } = body;
        const made = await testClock.makeLicense(readProduct(product), {
          ...(slots === undefined ? {} : { slots }),
          ...(timeoutMinutes === undefined ? {} : { timeoutMinutes }),
          ...(maxBorrowHours === undefined ? {} : { maxBorrowHours }),
        });
        if (typeof made === 'object') return made;
        return send({ license_id: made });
      },
    },
  });
}

function readLength(text: string): number {
  const millis = parseLength(text);
  if (millis !== undefined) return millis;
  const message = '"by" must be a time of at most ten years, such as 30s, 90m, 24h, 30d or 2w.';
  throw new RequestError('validation_error', message, { field: 'by' });
}

function readProduct(product: string): string {
  if (product.startsWith(TEST_PRODUCT_PREFIX)) return product;
  const message = `"product" must start with "${TEST_PRODUCT_PREFIX}", so that it is no real product.`;
  throw new RequestError('validation_error', message, { field: 'product' });
}
