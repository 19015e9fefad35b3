/**
 * Every fact about every error code that Berth returns, in order of precedence: when several apply, the first
 * one is sent. `npm run docs` writes `docs/errors.md` and the tables of both clients from it.
 *
 * Every refusal is a 4xx: clients treat a 5xx as a network failure. Clients remember `license_not_active`,
 * `license_not_enabled` and `license_expired` permanently, so these three codes have no other use.
 */
const FACTS = {
  // The request was rejected before a decision.
  bad_request: { title: 'The request is not valid HTTP' },
  not_implemented: { title: 'The server does not know this method or Transfer-Encoding', status: 501 },
  expectation_failed: { title: 'The server does not meet this expectation', status: 417 },
  request_timeout: { title: 'The request arrived too slowly', status: 408, retryable: true },
  headers_too_large: { title: 'The request headers are too large', status: 431 },
  not_found: {
    title: 'There is nothing at this path',
    status: 404,
    advice: 'Check the address of the server: there is no Berth at it.',
  },
  method_not_allowed: { title: 'The path does not support this method', status: 405 },
  host_not_allowed: { title: 'Browsers may not use the server under this name', status: 403 },
  origin_not_allowed: { title: 'This origin is not allowed to use the server', status: 403 },
  too_many_requests: { title: 'Too many requests or sign-ins in a short time', status: 429, retryable: true },
  unauthorized: {
    title: 'The credentials are missing or wrong',
    status: 401,
    advice: 'Give the client a valid token of the license server.',
  },
  forbidden: {
    title: 'The credentials do not allow this',
    status: 403,
    advice: 'Give the client a token with the required role.',
  },
  second_factor_required: {
    title: 'The code of the second factor is missing or wrong',
    status: 401,
  },
  confirmation_required: {
    title: 'Somebody has to confirm this with a password, or by signing in',
    status: 403,
  },
  csrf_rejected: { title: 'The CSRF token is missing or wrong', status: 403 },
  tls_required: { title: 'This server requires TLS to sign in', status: 403 },
  sign_in_refused: { title: 'The sign-in was refused by the provider, or gives no role', status: 403 },
  sign_in_unavailable: {
    title: 'The provider or directory for sign-ins cannot be reached',
    status: 503,
    retryable: true,
  },
  too_many_subscribers: { title: 'Too many clients are following the events', status: 429, retryable: true },
  payload_too_large: { title: 'The body is too large', status: 413 },
  unsupported_media_type: { title: 'The body is in a format that the server does not read', status: 415 },
  invalid_json: { title: 'The body is not valid JSON' },
  validation_error: {
    title: 'A field has an invalid value',
    refusesCount: true,
    advice: 'Correct the field that the message names.',
  },
  missing_parameters: { title: 'A required field is missing', advice: 'Give "user" and "product".' },
  keys_in_url_not_allowed: { title: 'This server does not accept secrets in a URL' },
  idempotency_key_reused: {
    title: 'The Idempotency-Key was already used with a different body',
    refusesCount: true,
    advice: 'Use a new key for every count.',
  },

  // The license cannot be used.
  unknown_product: {
    title: 'The server has no license for this product',
    advice: 'Check the product code, or ask the administrator to add the license.',
  },
  license_not_found: {
    title: 'The server does not have this license',
    advice: 'Check the license id, or leave it out.',
  },
  license_not_enabled: {
    title: 'The license is disabled',
    denial: 'The license of {what} was disabled by its vendor.',
    advice: 'Ask the vendor why the license is disabled.',
  },
  license_not_active: {
    title: 'The license is not active',
    denial: 'The license of {what} was not active.',
    advice: 'Ask the administrator to activate the license.',
  },
  license_start_date_error: {
    title: 'The license is not valid yet',
    retryable: true,
    denial: 'The license of {what} was not valid yet.',
    advice: 'Wait until the license starts.',
  },
  license_expired: {
    title: 'The license has expired',
    denial: 'The license of {what} had expired.',
    advice: 'Renew the license with the vendor.',
  },
  server_identity_changed: {
    title: 'The license belongs to a different machine',
    denial: 'The license of {what} was activated on another machine.',
    advice: 'Ask the administrator: the license server was moved or copied.',
  },
  license_check_overdue: {
    title: 'The vendor has not been reached for too long',
    retryable: true,
    denial: 'The license of {what} had not been checked with its vendor in time.',
    advice: 'Ask the administrator to reconnect the license server to the vendor.',
  },

  // Denied by the rules.
  blacklisted: {
    title: 'This user, host, address or machine is barred',
    denial: 'The administrator has barred this user, host or address.',
    advice: 'Ask the administrator, whose rules bar this user, host or address.',
  },

  // The operation's own refusals.
  invalid_license_feature_code: {
    title: 'The license has no such feature',
    refusesCount: true,
    denial: 'There is no feature {what}.',
    advice: 'Check the code of the feature.',
  },
  license_feature_expired: {
    title: 'The feature has expired',
    denial: 'The feature {what} had expired.',
    advice: 'Renew the feature with the vendor.',
  },
  feature_not_consumption: {
    title: 'The feature does not count consumption',
    refusesCount: true,
    denial: 'The feature {what} does not count consumption.',
    advice: 'Use feature() for a feature with slots.',
  },
  feature_not_floating: {
    title: 'The feature has no floating slots',
    denial: 'The feature {what} has no slots of its own.',
    advice: 'Use consume() for a feature that counts.',
  },
  license_not_consumption: {
    title: 'The license does not count consumption',
    refusesCount: true,
    denial: 'The license of {what} does not count consumption.',
    advice: 'The license does not count consumption: leave the call out.',
  },
  device_not_found: {
    title: 'The user does not hold a slot of this license',
    notHeld: true,
    denial: 'The user held no slot of the license, which {what} requires.',
    advice: 'There is nothing to return. For a feature, take a slot of the license first.',
  },
  wrong_store: {
    title: 'The request is meant for another server',
    advice: 'Give the address of the server that it was borrowed from or queued for.',
  },
  slot_of_another_client: {
    title: 'The slot was taken with different credentials',
    status: 403,
    advice: 'Return the slot with the credentials with which it was taken.',
  },
  license_borrow_not_allowed: {
    title: 'The license does not allow borrowing',
    denial: '{what} cannot be borrowed.',
    advice: 'The license does not allow borrowing: stay connected instead.',
  },
  borrow_until_not_valid: {
    title: 'The slot cannot be borrowed until that date',
    denial: '{what} cannot be borrowed until the requested date.',
    advice: 'Borrow until "latest_until" at the latest; without it, nothing can be borrowed.',
  },
  floating_not_available: {
    title: 'All slots are in use',
    retryable: true,
    endsByWaiting: true,
    denial: 'All slots of {what} were in use.',
    advice: 'Wait until a user returns a slot, or ask the administrator for more slots.',
  },
  address_limit_reached: {
    title: 'The address has reached its limit of slots',
    retryable: true,
    endsByWaiting: true,
    denial: 'As many slots of {what} as the administrator allows were held or taken from this address.',
    advice: 'Close another program on this machine that uses a slot.',
  },
  floating_feature_device_not_in_use: {
    title: 'The user does not hold a slot of this feature',
    notHeld: true,
    advice: 'There is nothing to return.',
  },
  license_not_enough_consumptions: {
    title: 'The license does not have enough consumption left',
    refusesCount: true,
    denial: 'Not enough consumption of {what} was left.',
    advice: 'Buy more, or wait for the next period; "left" is what is left.',
  },
  feature_not_enough_consumptions: {
    title: 'The feature does not have enough consumption left',
    refusesCount: true,
    denial: 'Not enough consumption of {what} was left.',
    advice: 'Buy more, or wait for the next period; "left" is what is left.',
  },
  account_exists: { title: 'An account with this name already exists' },
  account_not_found: { title: 'No account has this name' },
  last_administrator: { title: 'The server needs at least one administrator' },
  token_exists: { title: 'A token with this name already exists' },
  token_not_found: { title: 'The token does not exist' },
  setting_not_changeable: { title: 'The setting cannot be changed while the server runs' },
  webhook_not_set: { title: 'There is no webhook that events can be sent to' },
  channel_not_found: { title: 'There is no channel with this name' },
  too_many_channels: { title: 'There are too many channels' },
  too_many_bars: { title: 'There are too many bars' },
  rules_not_valid: { title: 'The rules have errors' },
  rules_changed: { title: 'Other rules were applied meanwhile' },
  rules_in_file: { title: 'The rules are in a file' },
  group_not_found: { title: 'The rules have no such group of the directory' },
  directory_unavailable: {
    title: 'The directory does not tell who is in a group of the rules',
    status: 503,
    retryable: true,
  },
  rules_revision_not_found: { title: 'There is no such revision of the rules' },
  too_many_grant_keys: { title: 'Too many grant keys are still in use' },
  slot_is_borrowed: { title: 'The slot is borrowed: it can only be recalled' },
  slot_not_borrowed: { title: 'The slot is not borrowed: release it instead' },
  clock_not_ahead: { title: 'There is no clock jump to accept' },
  test_clock_off: { title: 'The server has no test clock' },
  test_clock_on: { title: 'The server has a test clock, and takes no real licenses' },
  clock_not_poisoned: { title: 'The clock is not ahead: there is nothing to reset' },
  borrows_not_restorable: { title: 'A wrong clock ended borrows that cannot be restored' },
  audit_not_whole: { title: 'The audit log has been altered' },
  other_servers_running: { title: 'Other servers use the same database' },

  // The licensing cloud refused, or cannot be reached.
  cloud_not_configured: { title: 'No licensing cloud is configured' },
  cloud_keys_missing: { title: 'The keys for the licensing cloud are not set' },
  invalid_api_key: { title: 'The licensing cloud does not know the API key' },
  signature_mismatch: { title: 'The shared key is wrong' },
  date_not_valid: { title: 'The clocks of server and cloud are too far apart' },
  invalid_credentials: { title: 'The user name or the password is wrong' },
  license_activated_max_times: { title: 'The license has reached its limit of activations' },
  license_not_floating: { title: 'The license has no slots to lend' },
  license_not_readable: { title: 'Servers cannot read this license' },
  offline_key_not_configured: { title: "The vendor's public key is not configured" },
  offline_file_invalid: { title: 'The license file cannot be read' },
  offline_signature_mismatch: { title: 'The file is not signed by the vendor' },
  offline_hardware_mismatch: { title: 'The file is for a different server' },
  offline_request_unknown: { title: 'The file does not answer a request of this server' },
  offline_request_used: { title: 'The request has already been answered' },
  offline_file_outdated: { title: 'A newer file for this license is already installed' },
  airgap_key_not_configured: { title: "The vendor's air-gap key is not configured" },
  server_certificate_invalid: { title: "The certificate is not the vendor's" },
  server_certificate_mismatch: { title: 'The certificate is for another server, key or license' },
  airgap_code_invalid: { title: 'The code is not valid' },
  airgap_confirmation_invalid: { title: 'The confirmation code is not for this server, key and policy' },
  airgap_policy_invalid: { title: 'The policy file is not valid' },
  airgap_policy_mismatch: { title: 'The policy file is for a different policy' },
  usage_file_invalid: { title: 'The usage file is not valid' },
  server_key_not_approved: { title: "The vendor must approve the server's key first", retryable: true },
  usage_file_outdated: { title: 'A newer usage file has already been accepted' },
  report_not_found: { title: 'The report does not exist' },
  report_not_uncertain: { title: 'The report does not need to be settled' },
  cloud_refused: { title: 'The licensing cloud refused the request' },
  cloud_unavailable: { title: 'The licensing cloud cannot be reached', status: 503, retryable: true },

  // The server cannot answer.
  store_unavailable: { title: 'The server cannot reach its data', status: 503, retryable: true },
  internal_error: { title: 'The server has an internal error', status: 500, retryable: true },
} satisfies Record<string, Partial<ErrorEntry> & { title: string }>;

export interface ErrorEntry {
  /** What happened, in a few words. */
  readonly title: string;
  /** The HTTP status; 400 unless the table says otherwise. */
  readonly status: number;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** Others hold all slots: whoever waits gets one, and a user who held one has lost it. */
  readonly endsByWaiting?: boolean;
  /** The user does not hold the slot: there is nothing to return. */
  readonly notHeld?: boolean;
  /** It concerns the count itself, so a queued count is given up. After other refusals it waits. */
  readonly refusesCount?: boolean;
  /**
   * Why a license denied a slot or consumption, for administrators; `{what}` is the product or the feature.
   * The audit log counts the codes that have it.
   */
  readonly denial?: string;
  /** What the user of an application can do. Clients show it. */
  readonly advice?: string;
}

export type ErrorCode = keyof typeof FACTS;

export const ERROR_CODES = Object.keys(FACTS) as readonly ErrorCode[];

export const ERRORS = Object.fromEntries(
  Object.entries(FACTS).map(([code, facts]) => [code, { status: 400, retryable: false, ...facts }]),
) as Readonly<Record<ErrorCode, ErrorEntry>>;

/** What to do about the errors that clients find themselves. */
export const CLIENT_ADVICE: Readonly<Record<string, string>> = {
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
};
