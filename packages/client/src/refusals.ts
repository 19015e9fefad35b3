// Written by "npm run docs" from the table of errors.

// What to do.
export const ADVICE: Readonly<Record<string, string>> = {
  unreachable: 'Check the network and the address of the license server, then try again.',
  slot_lost: 'Stop the work that needs the license. The client asks for the slot again.',
  storage_failed: 'Check that the folder exists, can be written, and has space left.',
  slot_in_use_here: 'Call acquire() once, and share the slot within the program.',
  no_borrow: 'Borrow while the server can be reached. If the host name changes, always give a "user".',
  borrow_ended: 'Connect to the license server, and take or borrow a slot again.',
  borrow_unreadable: 'Connect to the license server, and borrow again.',
  slot_released: 'Take a slot with acquire() first, or borrow one with the borrow() of the client.',
  certificate_expired: 'Check the clock, then ask the administrator to connect the server to the vendor.',
  not_proven: 'Check the address of the license server, and that it has the certificate of the vendor.',
  clock_set_back: 'Set the clock of this machine right. If it is, connect to the license server.',
  not_found: 'Check the address of the server: there is no Berth at it.',
  unauthorized: 'Give the client a valid token of the license server.',
  forbidden: 'Give the client a token with the required role.',
  validation_error: 'Correct the field that the message names.',
  missing_parameters: 'Give "user" and "product".',
  idempotency_key_reused: 'Use a new key for every count.',
  unknown_product: 'Check the product code, or ask the administrator to add the license.',
  license_not_found: 'Check the license id, or leave it out.',
  license_not_enabled: 'Ask the vendor why the license is disabled.',
  license_not_active: 'Ask the administrator to activate the license.',
  license_start_date_error: 'Wait until the license starts.',
  license_expired: 'Renew the license with the vendor.',
  server_identity_changed: 'Ask the administrator: the license server was moved or copied.',
  license_check_overdue: 'Ask the administrator to reconnect the license server to the vendor.',
  blacklisted: 'Ask the administrator, whose rules bar this user, host or address.',
  invalid_license_feature_code: 'Check the code of the feature.',
  license_feature_expired: 'Renew the feature with the vendor.',
  feature_not_consumption: 'Use feature() for a feature with slots.',
  feature_not_floating: 'Use consume() for a feature that counts.',
  license_not_consumption: 'The license does not count consumption: leave the call out.',
  device_not_found: 'There is nothing to return. For a feature, take a slot of the license first.',
  wrong_store: 'Give the address of the server that it was borrowed from or queued for.',
  slot_of_another_client: 'Return the slot with the credentials with which it was taken.',
  license_borrow_not_allowed: 'The license does not allow borrowing: stay connected instead.',
  borrow_until_not_valid: 'Borrow until "latest_until" at the latest; without it, nothing can be borrowed.',
  floating_not_available: 'Wait until a user returns a slot, or ask the administrator for more slots.',
  address_limit_reached: 'Close another program on this machine that uses a slot.',
  floating_feature_device_not_in_use: 'There is nothing to return.',
  license_not_enough_consumptions: 'Buy more, or wait for the next period; "left" is what is left.',
  feature_not_enough_consumptions: 'Buy more, or wait for the next period; "left" is what is left.',
};

// The same call may succeed later.
export const RETRYABLE = new Set([
  'request_timeout',
  'too_many_requests',
  'sign_in_unavailable',
  'too_many_subscribers',
  'license_start_date_error',
  'license_check_overdue',
  'floating_not_available',
  'address_limit_reached',
  'directory_unavailable',
  'server_key_not_approved',
  'cloud_unavailable',
  'store_unavailable',
  'internal_error',
]);

// Others hold all slots.
export const ENDS_BY_WAITING = new Set(['floating_not_available', 'address_limit_reached']);

// The user does not hold the slot.
export const NOT_HELD = new Set(['device_not_found', 'floating_feature_device_not_in_use']);

// The count itself is refused for good.
export const REFUSES_COUNT = new Set([
  'validation_error',
  'idempotency_key_reused',
  'invalid_license_feature_code',
  'feature_not_consumption',
  'license_not_consumption',
  'license_not_enough_consumptions',
  'feature_not_enough_consumptions',
]);
