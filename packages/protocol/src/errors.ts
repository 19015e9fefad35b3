/**
 * Every error code that Berth returns, in order of precedence: when several apply, the first one is sent.
 * Tests compare `docs/errors.md` and the OpenAPI document with this table.
 *
 * Every refusal is a 4xx: clients treat a 5xx as a network failure. Clients remember `license_not_active`,
 * `license_not_enabled` and `license_expired` permanently, so these three codes have no other use.
 */
export const ERRORS = {
  // The request was rejected before a decision.
  bad_request: { status: 400, retryable: false, title: 'The request is not valid HTTP' },
  request_timeout: { status: 408, retryable: true, title: 'The request arrived too slowly' },
  headers_too_large: { status: 431, retryable: false, title: 'The request headers are too large' },
  not_found: { status: 404, retryable: false, title: 'There is nothing at this path' },
  method_not_allowed: { status: 405, retryable: false, title: 'The path does not support this method' },
  host_not_allowed: {
    status: 403,
    retryable: false,
    title: 'Browsers may not use the server under this name',
  },
  origin_not_allowed: {
    status: 403,
    retryable: false,
    title: 'This origin is not allowed to use the server',
  },
  too_many_requests: { status: 429, retryable: true, title: 'Too many requests or sign-ins in a short time' },
  unauthorized: { status: 401, retryable: false, title: 'The credentials are missing or wrong' },
  forbidden: { status: 403, retryable: false, title: 'The credentials do not allow this' },
  csrf_rejected: { status: 403, retryable: false, title: 'The CSRF token is missing or wrong' },
  tls_required: { status: 403, retryable: false, title: 'This server requires TLS to sign in' },
  too_many_subscribers: { status: 429, retryable: true, title: 'Too many clients are following the events' },
  payload_too_large: { status: 413, retryable: false, title: 'The body is too large' },
  invalid_json: { status: 400, retryable: false, title: 'The body is not valid JSON' },
  validation_error: { status: 400, retryable: false, title: 'A field has an invalid value' },
  missing_parameters: { status: 400, retryable: false, title: 'A required field is missing' },
  keys_in_url_not_allowed: {
    status: 400,
    retryable: false,
    title: 'This server does not accept secrets in a URL',
  },

  idempotency_key_reused: {
    status: 400,
    retryable: false,
    title: 'The Idempotency-Key was already used with a different body',
  },

  // The license cannot be used.
  unknown_product: { status: 400, retryable: false, title: 'The server has no license for this product' },
  license_not_found: { status: 400, retryable: false, title: 'The server does not have this license' },
  license_not_enabled: { status: 400, retryable: false, title: 'The license is disabled' },
  license_not_active: { status: 400, retryable: false, title: 'The license is not active' },
  license_start_date_error: { status: 400, retryable: true, title: 'The license is not valid yet' },
  license_expired: { status: 400, retryable: false, title: 'The license has expired' },
  server_identity_changed: {
    status: 400,
    retryable: false,
    title: 'The license belongs to a different machine',
  },
  license_check_overdue: {
    status: 400,
    retryable: true,
    title: 'The vendor has not been reached for too long',
  },

  // Denied by the rules.
  blacklisted: {
    status: 400,
    retryable: false,
    title: 'This user, host, address or machine is barred',
  },

  // The operation's own refusals.
  invalid_license_feature_code: { status: 400, retryable: false, title: 'The license has no such feature' },
  license_feature_expired: { status: 400, retryable: false, title: 'The feature has expired' },
  feature_not_consumption: {
    status: 400,
    retryable: false,
    title: 'The feature does not count consumption',
  },
  feature_not_floating: { status: 400, retryable: false, title: 'The feature has no floating slots' },
  license_not_consumption: {
    status: 400,
    retryable: false,
    title: 'The license does not count consumption',
  },
  device_not_found: { status: 400, retryable: false, title: 'The user does not hold a slot of this license' },
  wrong_store: { status: 400, retryable: false, title: 'The request is meant for another server' },
  slot_of_another_client: {
    status: 403,
    retryable: false,
    title: 'The slot was taken with different credentials',
  },
  license_borrow_not_allowed: {
    status: 400,
    retryable: false,
    title: 'The license does not allow borrowing',
  },
  borrow_until_not_valid: {
    status: 400,
    retryable: false,
    title: 'The slot cannot be borrowed until that date',
  },
  floating_not_available: { status: 400, retryable: true, title: 'All slots are in use' },
  address_limit_reached: {
    status: 400,
    retryable: true,
    title: 'The address has reached its limit of slots',
  },
  floating_feature_device_not_in_use: {
    status: 400,
    retryable: false,
    title: 'The user does not hold a slot of this feature',
  },
  license_not_enough_consumptions: {
    status: 400,
    retryable: false,
    title: 'The license does not have enough consumption left',
  },
  feature_not_enough_consumptions: {
    status: 400,
    retryable: false,
    title: 'The feature does not have enough consumption left',
  },
  account_exists: { status: 400, retryable: false, title: 'An account with this name already exists' },
  account_not_found: { status: 400, retryable: false, title: 'No account has this name' },
  last_administrator: { status: 400, retryable: false, title: 'The server needs at least one administrator' },
  token_exists: { status: 400, retryable: false, title: 'A token with this name already exists' },
  token_not_found: { status: 400, retryable: false, title: 'The token does not exist' },
  too_many_bars: { status: 400, retryable: false, title: 'There are too many bars' },
  too_many_grant_keys: { status: 400, retryable: false, title: 'Too many grant keys are still in use' },
  slot_is_borrowed: { status: 400, retryable: false, title: 'The slot is borrowed: it can only be recalled' },
  slot_not_borrowed: { status: 400, retryable: false, title: 'The slot is not borrowed: release it instead' },
  clock_not_ahead: { status: 400, retryable: false, title: 'There is no clock jump to accept' },
  clock_not_poisoned: {
    status: 400,
    retryable: false,
    title: 'The clock is not ahead: there is nothing to reset',
  },
  borrows_not_restorable: {
    status: 400,
    retryable: false,
    title: 'A wrong clock ended borrows that cannot be restored',
  },
  audit_not_whole: { status: 400, retryable: false, title: 'The audit log has been altered' },
  other_servers_running: { status: 400, retryable: false, title: 'Other servers use the same database' },

  // The licensing cloud refused, or cannot be reached.
  cloud_not_configured: { status: 400, retryable: false, title: 'No licensing cloud is configured' },
  cloud_keys_missing: {
    status: 400,
    retryable: false,
    title: 'The keys for the licensing cloud are not set',
  },
  invalid_api_key: { status: 400, retryable: false, title: 'The licensing cloud does not know the API key' },
  signature_mismatch: { status: 400, retryable: false, title: 'The shared key is wrong' },
  date_not_valid: {
    status: 400,
    retryable: false,
    title: 'The clocks of server and cloud are too far apart',
  },
  invalid_credentials: { status: 400, retryable: false, title: 'The user name or the password is wrong' },
  license_activated_max_times: {
    status: 400,
    retryable: false,
    title: 'The license has reached its limit of activations',
  },
  license_not_floating: { status: 400, retryable: false, title: 'The license has no slots to lend' },
  license_not_readable: { status: 400, retryable: false, title: 'Servers cannot read this license' },
  offline_key_not_configured: {
    status: 400,
    retryable: false,
    title: "The vendor's public key is not configured",
  },
  offline_file_invalid: { status: 400, retryable: false, title: 'The license file cannot be read' },
  offline_signature_mismatch: {
    status: 400,
    retryable: false,
    title: 'The file is not signed by the vendor',
  },
  offline_hardware_mismatch: { status: 400, retryable: false, title: 'The file is for a different server' },
  offline_request_unknown: {
    status: 400,
    retryable: false,
    title: 'The file does not answer a request of this server',
  },
  offline_request_used: { status: 400, retryable: false, title: 'The request has already been answered' },
  offline_file_outdated: {
    status: 400,
    retryable: false,
    title: 'A newer file for this license is already installed',
  },
  airgap_key_not_configured: {
    status: 400,
    retryable: false,
    title: "The vendor's air-gap key is not configured",
  },
  server_certificate_invalid: {
    status: 400,
    retryable: false,
    title: "The certificate is not the vendor's",
  },
  server_certificate_mismatch: {
    status: 400,
    retryable: false,
    title: 'The certificate is for another server, key or license',
  },
  airgap_code_invalid: { status: 400, retryable: false, title: 'The code is not valid' },
  airgap_confirmation_invalid: {
    status: 400,
    retryable: false,
    title: 'The confirmation code is not for this server, key and policy',
  },
  airgap_policy_invalid: { status: 400, retryable: false, title: 'The policy file is not valid' },
  airgap_policy_mismatch: {
    status: 400,
    retryable: false,
    title: 'The policy file is for a different policy',
  },
  usage_file_invalid: { status: 400, retryable: false, title: 'The usage file is not valid' },
  server_key_not_approved: {
    status: 400,
    retryable: true,
    title: "The vendor must approve the server's key first",
  },
  usage_file_outdated: {
    status: 400,
    retryable: false,
    title: 'A newer usage file has already been accepted',
  },
  report_not_found: { status: 400, retryable: false, title: 'The report does not exist' },
  report_not_uncertain: { status: 400, retryable: false, title: 'The report does not need to be settled' },
  cloud_refused: { status: 400, retryable: false, title: 'The licensing cloud refused the request' },
  cloud_unavailable: { status: 503, retryable: true, title: 'The licensing cloud cannot be reached' },

  // The server cannot answer.
  store_unavailable: { status: 503, retryable: true, title: 'The server cannot reach its data' },
  internal_error: { status: 500, retryable: true, title: 'The server has an internal error' },
} as const satisfies Record<string, ErrorEntry>;

export interface ErrorEntry {
  /** The HTTP status. */
  readonly status: number;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** What happened, in a few words. */
  readonly title: string;
}

export type ErrorCode = keyof typeof ERRORS;

export const ERROR_CODES = Object.keys(ERRORS) as readonly ErrorCode[];
