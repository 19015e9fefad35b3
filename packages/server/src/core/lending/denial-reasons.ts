import type { ErrorCode } from '@berth/protocol/errors';
import type { Command } from '../command.ts';

/**
 * The codes with which a license denies a slot or consumption, and which the audit log counts. Requests that
 * mean no license, and invalid ones, are denied by none.
 */
export const DENIAL_REASONS: readonly ErrorCode[] = [
  'license_not_enabled',
  'license_not_active',
  'license_start_date_error',
  'license_expired',
  'server_identity_changed',
  'license_check_overdue',
  'blacklisted',
  'invalid_license_feature_code',
  'license_feature_expired',
  'feature_not_consumption',
  'feature_not_floating',
  'license_not_consumption',
  'device_not_found',
  'license_borrow_not_allowed',
  'borrow_until_not_valid',
  'floating_not_available',
  'address_limit_reached',
  'license_not_enough_consumptions',
  'feature_not_enough_consumptions',
];

const DENIABLE: ReadonlySet<Command['kind']> = new Set([
  'register',
  'borrow',
  'register_feature',
  'add_consumption',
]);

/** Whether the command asks for something of a license; giving it back is never denied. */
export function isDeniable({ kind }: Command): boolean {
  return DENIABLE.has(kind);
}
