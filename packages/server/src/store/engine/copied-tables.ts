export type ColumnKind = 'number' | 'text' | 'bytes';

type Columns = Readonly<Record<string, ColumnKind>>;

const SLOT = { registered_at: 'number', ends_at: 'number', borrowed_until: 'number' } as const;

/**
 * What a store holds, wherever it is: every table and column that all stores have. What only one of them has
 * follows from these, or is of no use elsewhere.
 */
export const COPIED_TABLES = {
  server: {
    id: 'number',
    identity: 'text',
    mark: 'number',
    audit_n: 'number',
    audit_mac: 'bytes',
    audit_signed_links: 'number',
    hardware_id: 'text',
    usage_sequence: 'number',
    set_up_at: 'number',
    rules: 'text',
    rules_at: 'number',
    webhook_seq: 'number',
    webhook_index: 'number',
    ignores_case: 'number',
  },
  sealed_secret: { name: 'text', sealed: 'bytes' },
  account: {
    name: 'text',
    role: 'text',
    password_hash: 'text',
    one_time: 'number',
    created_at: 'number',
    one_time_at: 'number',
    one_time_used: 'number',
  },
  token: {
    token_hash: 'text',
    id: 'text',
    kind: 'text',
    account: 'text',
    name: 'text',
    role: 'text',
    issued_at: 'number',
    used_at: 'number',
    expires_at: 'number',
    restriction: 'text',
    is_used: 'number',
  },
  license: {
    id: 'number',
    product: 'text',
    facts: 'text',
    added_order: 'number',
    added_at: 'number',
    in_use: 'number',
    audit_n: 'number',
    audit_mac: 'bytes',
    removed_at: 'number',
  },
  registration: {
    license_id: 'number',
    user: 'text',
    hostname: 'text',
    address: 'text',
    info: 'text',
    ...SLOT,
    origin: 'text',
    credential: 'text',
    spelling: 'text',
  },
  feature_slot: { license_id: 'number', user: 'text', feature: 'text', ...SLOT },
  ended_borrow: {
    license_id: 'number',
    user: 'text',
    feature: 'text',
    hostname: 'text',
    address: 'text',
    info: 'text',
    registered_at: 'number',
    borrowed_until: 'number',
    origin: 'text',
    credential: 'text',
    spelling: 'text',
    ended_at: 'number',
  },
  denial: {
    license_id: 'number',
    user: 'text',
    feature: 'text',
    code: 'text',
    denied_at: 'number',
    repeated: 'number',
  },
  place_denial: {
    license_id: 'number',
    place: 'text',
    code: 'text',
    denied_at: 'number',
    recorded: 'number',
    repeated: 'number',
  },
  meter: {
    license_id: 'number',
    feature: 'text',
    pending: 'number',
    reported: 'number',
    in_use: 'number',
    cloud_total: 'number',
    cloud_at: 'number',
  },
  consumption_total: { license_id: 'number', feature: 'text', window_start: 'number', total: 'number' },
  report: {
    id: 'text',
    license_id: 'number',
    feature: 'text',
    amount: 'number',
    cut_at: 'number',
    uncertain_at: 'number',
  },
  remembered_answer: {
    license_id: 'number',
    operation: 'text',
    user: 'text',
    key: 'text',
    body_hash: 'text',
    answered_at: 'number',
    outcome: 'text',
  },
  offline_request: {
    id: 'text',
    request: 'text',
    product: 'text',
    made_at: 'number',
    answered_by: 'number',
  },
  notice: { kind: 'text', subject: 'text', value: 'number' },
  audit_link: {
    seq: 'number',
    chain: 'number',
    n: 'number',
    at: 'number',
    events: 'text',
    mac: 'bytes',
  },
  audit_segment: {
    chain: 'number',
    first_n: 'number',
    last_n: 'number',
    first_mac: 'bytes',
    last_mac: 'bytes',
    first_at: 'number',
    last_at: 'number',
    links: 'number',
    events: 'number',
    totals: 'text',
    mac: 'bytes',
  },
} as const satisfies Record<string, Columns>;

export type CopiedTable = keyof typeof COPIED_TABLES;

export const COPIED_TABLE_NAMES = Object.keys(COPIED_TABLES) as readonly CopiedTable[];

/** So many rows travel at once. A row of the log may hold some thousand events. */
export const PAGE_ROWS = 500;

export function columnsOf(table: string): Columns {
  return COPIED_TABLES[table as CopiedTable];
}

/** As both engines take it: some names are words of SQL. */
export function quoteNames(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ');
}
