/** What v4 clients read in answers, and what they can stand. */
type Judge = (value: unknown) => boolean;

export type Fields = Readonly<Record<string, Judge>>;

const ISO_UTC = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.(\d{3}|\d{6}))?Z$/;

const isText: Judge = (value) => typeof value === 'string';
const isFlag: Judge = (value) => typeof value === 'boolean';
const isCount: Judge = (value) => Number.isSafeInteger(value);
const isNumber: Judge = (value) => typeof value === 'number' && Number.isFinite(value);
/** An empty text and the year 1 break clients. */
const isDate: Judge = (value) =>
  value === null || (typeof value === 'string' && ISO_UTC.test(value) && !value.startsWith('0001'));
const isObject: Judge = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isOneOf =
  (...allowed: unknown[]): Judge =>
  (value) =>
    allowed.includes(value);

const LIMITS: Fields = {
  max_consumptions: isCount,
  total_consumptions: isCount,
  allow_overages: isFlag,
  max_overages: isCount,
  allow_unlimited_consumptions: isFlag,
  allow_negative_consumptions: isFlag,
  reset_consumption: isFlag,
  consumption_period: isOneOf('daily', 'weekly', 'monthly', 'annually', null),
};

/** Of a license, in every answer that has one. */
export const LICENSE_FIELDS: Fields = {
  id: isCount,
  license_id: isCount,
  product: isText,
  license_type: isOneOf('perpetual', 'time-limited', 'consumption', 'subscription'),
  license_key: isText,
  is_floating: isOneOf(true),
  is_floating_cloud: isOneOf(false),
  floating_timeout: (value) => isCount(value) && (value as number) >= 1,
  floating_users: isCount,
  floating_in_use: isCount,
  floating_slots_in_use: isCount,
  floating_in_use_devices: isCount,
  can_borrow: isFlag,
  max_borrow_time: isNumber,
  validity_period: isDate,
  maintenance_period: isDate,
  start_date: isDate,
  is_trial: isFlag,
  allow_grace_period: isFlag,
  grace_period: isNumber,
  prevent_vm: isOneOf(false),
  max_activations: isCount,
  times_activated: isCount,
  max_transfers: isCount,
  transfer_count: isCount,
  allow_unlimited_activations: isFlag,
  ...LIMITS,
  product_features: Array.isArray,
  custom_fields: Array.isArray,
  metadata: isObject,
  customer: isObject,
  product_details: isObject,
};

/** Of a registration. */
export const REGISTER_FIELDS: Fields = {
  ...LICENSE_FIELDS,
  is_borrowed: isFlag,
  borrowed_until: isDate,
  license_json: isText,
};

export const BORROW_FIELDS: Fields = {
  license_id: isCount,
  is_borrowed: isOneOf(true),
  borrowed_until: (value) => value !== null && isDate(value),
  max_borrow_time: isNumber,
};

export const CONSUMPTION_FIELDS: Fields = { id: isCount, ...LIMITS };

export const FEATURE_FIELDS: Fields = {
  ...LIMITS,
  id: isCount,
  license_id: isCount,
  code: isText,
  name: isText,
  feature_type: isOneOf('activation', 'consumption'),
  max_consumption: isCount,
  is_floating: isFlag,
  is_floating_cloud: isFlag,
  expiry_date: isDate,
  metadata: isObject,
};

export const PRODUCT_FIELDS = [
  'product_id',
  'product_name',
  'short_code',
  'authorization_method',
  'metadata',
];

/** What is wrong with the fields of an answer; `null`: nothing. */
export function findWrongField(body: Readonly<Record<string, unknown>>, fields: Fields): string | null {
  for (const [name, isRight] of Object.entries(fields)) {
    if (!Object.hasOwn(body, name)) return `"${name}" is missing`;
    if (!isRight(body[name])) return `"${name}" is ${JSON.stringify(body[name])}`;
  }
  return null;
}
