/**
 * Every error code that Berth answers with, in order of precedence: when several apply, the one that stands
 * first is sent. `docs/errors.md` and the OpenAPI document are held to this table by tests.
 *
 * Everything that is a matter of business is a 4xx: to a client, a 5xx means that the network is down. A
 * client that hears `license_not_active`, `license_not_enabled` or `license_expired` remembers it for good,
 * so these three are sent for nothing else.
 */
export const ERRORS = {
  // The request did not get as far as a decision.
  bad_request: { status: 400, retryable: false, title: 'The request is not valid HTTP' },
  request_timeout: { status: 408, retryable: true, title: 'The request arrived too slowly' },
  headers_too_large: { status: 431, retryable: false, title: 'The request headers are too large' },
  not_found: { status: 404, retryable: false, title: 'There is nothing at this path' },
  method_not_allowed: { status: 405, retryable: false, title: 'The path exists, but not with this method' },
  host_not_allowed: { status: 403, retryable: false, title: 'Browsers may not use this name of the server' },
  origin_not_allowed: { status: 403, retryable: false, title: 'Pages of this site may not use the server' },
  too_many_requests: { status: 429, retryable: true, title: 'Too many requests or sign-ins in a short time' },
  unauthorized: { status: 401, retryable: false, title: 'The credentials are missing or wrong' },
  forbidden: { status: 403, retryable: false, title: 'The credentials do not reach this far' },
  csrf_rejected: { status: 403, retryable: false, title: 'The request did not come from the page itself' },
  tls_required: { status: 403, retryable: false, title: 'This server signs nobody in without TLS' },
  too_many_subscribers: { status: 429, retryable: true, title: 'Too many callers follow the events' },
  payload_too_large: { status: 413, retryable: false, title: 'The body is too large' },
  invalid_json: { status: 400, retryable: false, title: 'The body is not readable JSON' },
  validation_error: { status: 400, retryable: false, title: 'A field has a value that cannot be used' },
  missing_parameters: { status: 400, retryable: false, title: 'A field that is needed is missing' },
  keys_in_url_not_allowed: {
    status: 400,
    retryable: false,
    title: 'This server takes no secrets in a URL',
  },

  idempotency_key_reused: {
    status: 400,
    retryable: false,
    title: 'The Idempotency-Key was sent before with another body',
  },

  // The license cannot answer.
  unknown_product: { status: 400, retryable: false, title: 'The server holds no license of this product' },
  license_not_found: { status: 400, retryable: false, title: 'The server does not hold this license' },
  license_not_enabled: { status: 400, retryable: false, title: 'The license is disabled' },
  license_not_active: { status: 400, retryable: false, title: 'The license is not active' },
  license_start_date_error: { status: 400, retryable: true, title: 'The license is not valid yet' },
  license_expired: { status: 400, retryable: false, title: 'The license has expired' },
  server_identity_changed: {
    status: 400,
    retryable: false,
    title: 'The license belongs to another machine than this server',
  },
  license_check_overdue: {
    status: 400,
    retryable: true,
    title: 'The vendor has not been reached for too long',
  },

  // Somebody is not to have it.
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
  feature_not_floating: { status: 400, retryable: false, title: 'The feature has no slots of its own' },
  license_not_consumption: {
    status: 400,
    retryable: false,
    title: 'The license does not count consumption',
  },
  device_not_found: { status: 400, retryable: false, title: 'The user holds no slot of this license' },
  slot_of_another_client: {
    status: 403,
    retryable: false,
    title: 'The slot was taken with other credentials',
  },
  license_borrow_not_allowed: {
    status: 400,
    retryable: false,
    title: 'The license does not allow borrowing',
  },
  borrow_until_not_valid: { status: 400, retryable: false, title: 'The slot cannot be borrowed until then' },
  floating_not_available: { status: 400, retryable: true, title: 'All slots are in use' },
  address_limit_reached: {
    status: 400,
    retryable: true,
    title: 'The address holds as many slots as one address may',
  },
  floating_feature_device_not_in_use: {
    status: 400,
    retryable: false,
    title: 'The user holds no slot of this feature',
  },
  license_not_enough_consumptions: {
    status: 400,
    retryable: false,
    title: 'The license has not enough consumption left',
  },
  feature_not_enough_consumptions: {
    status: 400,
    retryable: false,
    title: 'The feature has not enough consumption left',
  },
  account_exists: { status: 400, retryable: false, title: 'There is an account of this name' },
  account_not_found: { status: 400, retryable: false, title: 'There is no account of this name' },
  last_administrator: { status: 400, retryable: false, title: 'A server needs an administrator' },
  token_exists: { status: 400, retryable: false, title: 'There is a token of this name' },
  token_not_found: { status: 400, retryable: false, title: 'There is no such token' },
  slot_is_borrowed: { status: 400, retryable: false, title: 'The slot is borrowed: it can only be recalled' },
  slot_not_borrowed: { status: 400, retryable: false, title: 'The slot is not borrowed: release it instead' },
  clock_not_ahead: { status: 400, retryable: false, title: 'There is no clock jump to accept' },
  clock_not_poisoned: { status: 400, retryable: false, title: 'The clock is not ahead: nothing to reset' },
  borrows_not_restorable: {
    status: 400,
    retryable: false,
    title: 'A wrong clock ended borrows that cannot be restored',
  },
  audit_not_whole: { status: 400, retryable: false, title: 'The audit log is not as it was written' },
  other_servers_running: { status: 400, retryable: false, title: 'Other servers use the same database' },

  // The licensing cloud says no, or cannot be asked.
  cloud_not_configured: { status: 400, retryable: false, title: 'No licensing cloud is configured' },
  cloud_keys_missing: {
    status: 400,
    retryable: false,
    title: 'The keys for the licensing cloud are not set',
  },
  invalid_api_key: { status: 400, retryable: false, title: 'The licensing cloud does not know the API key' },
  signature_mismatch: { status: 400, retryable: false, title: 'The shared key is not the right one' },
  date_not_valid: {
    status: 400,
    retryable: false,
    title: 'The clocks of server and cloud are too far apart',
  },
  invalid_credentials: { status: 400, retryable: false, title: 'The user name or the password is wrong' },
  license_activated_max_times: {
    status: 400,
    retryable: false,
    title: 'The license is activated on as many machines as it allows',
  },
  license_not_floating: { status: 400, retryable: false, title: 'The license has no slots to lend' },
  license_not_readable: { status: 400, retryable: false, title: 'No server could read this license' },
  offline_key_not_configured: {
    status: 400,
    retryable: false,
    title: "The vendor's public key is not configured",
  },
  offline_file_invalid: { status: 400, retryable: false, title: 'The license file cannot be read' },
  offline_signature_mismatch: {
    status: 400,
    retryable: false,
    title: 'The vendor has not signed this file',
  },
  offline_hardware_mismatch: { status: 400, retryable: false, title: 'The file is for another server' },
  offline_request_unknown: {
    status: 400,
    retryable: false,
    title: 'The file answers no request of this server',
  },
  offline_request_used: { status: 400, retryable: false, title: 'The request was answered before' },
  offline_file_outdated: {
    status: 400,
    retryable: false,
    title: 'A newer file of this license was taken before',
  },
  airgap_key_not_configured: {
    status: 400,
    retryable: false,
    title: "The vendor's air-gap key is not configured",
  },
  airgap_code_invalid: { status: 400, retryable: false, title: 'The code is not one of this protocol' },
  airgap_confirmation_invalid: {
    status: 400,
    retryable: false,
    title: 'The confirmation code is not for this server, key and policy',
  },
  airgap_policy_invalid: { status: 400, retryable: false, title: 'The policy file cannot be taken' },
  airgap_policy_mismatch: { status: 400, retryable: false, title: 'The policy file is another policy' },
  usage_file_invalid: { status: 400, retryable: false, title: 'The usage file cannot be taken' },
  server_key_not_approved: {
    status: 400,
    retryable: true,
    title: "The vendor has to approve the server's key first",
  },
  usage_file_outdated: { status: 400, retryable: false, title: 'A newer usage file was taken before' },
  report_not_found: { status: 400, retryable: false, title: 'There is no such report' },
  report_not_uncertain: { status: 400, retryable: false, title: 'The report settles itself' },
  cloud_refused: { status: 400, retryable: false, title: 'The licensing cloud refused' },
  cloud_unavailable: { status: 503, retryable: true, title: 'The licensing cloud cannot be reached' },

  // The server cannot answer.
  store_unavailable: { status: 503, retryable: true, title: 'The server cannot reach its data' },
  internal_error: { status: 500, retryable: true, title: 'The server made a mistake' },
} as const satisfies Record<string, ErrorEntry>;

export interface ErrorEntry {
  /** The HTTP status it is sent with. */
  readonly status: number;
  /** Whether the same request may succeed later without being changed. */
  readonly retryable: boolean;
  /** What happened, in a few words. */
  readonly title: string;
}

export type ErrorCode = keyof typeof ERRORS;

export const ERROR_CODES = Object.keys(ERRORS) as readonly ErrorCode[];
