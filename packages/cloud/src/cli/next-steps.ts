import type { ErrorCode } from '@berth/protocol/errors';
import type { Refusal } from '../core/refusal.ts';

/** What a vendor can do next. Customers get the same refusals from the page, where these would not help. */
const NEXT_STEPS: Partial<Record<ErrorCode, string>> = {
  unknown_product: '"cloud product list" shows the products, "cloud product create CODE" adds one.',
  license_not_found: '"cloud license list" shows the license keys.',
  device_not_found: '"cloud device list" shows the machines and their licenses.',
  invalid_api_key: '"cloud key list" shows the names of the keys.',
  license_not_enabled: '"cloud license enable KEY" enables it.',
  license_expired: '"cloud license extend KEY --until DATE" extends it.',
  license_activated_max_times:
    '"cloud license show KEY" shows the machines; "cloud license change KEY --activations N" allows more.',
  blacklisted: '"cloud device unblock HARDWARE_ID" unbars it.',
  offline_request_used: 'On the server, "berth offline request" makes one.',
};

export function withNextStep({ code, message }: Refusal): string {
  const step = NEXT_STEPS[code];
  return step === undefined || message.includes('"cloud ') ? message : `${message} ${step}`;
}
