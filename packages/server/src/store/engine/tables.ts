import type { ErrorCode } from '@berth/protocol/errors';
import type { Role } from '../../core/access/role.ts';
import type { TokenKind, TokenRestriction } from '../../core/access/token.ts';
import type { BarKind } from '../../core/nouns/bar.ts';
import type { Instant } from '../../core/nouns/instant.ts';
import type { LicenseId } from '../../core/nouns/license.ts';

/** What a column holds. Both databases return it as the same JavaScript value. */
interface Column<T = unknown> {
  readonly kind: 'number' | 'text' | 'bytes';
  readonly isNullable: boolean;
  /** Never set: it only carries the type. */
  readonly type?: T;
}

type Columns = Readonly<Record<string, Column>>;

interface Table {
  /** In the order in which `migrate-store` copies them. */
  readonly columns: Columns;
  readonly key: readonly string[];
  /** Rows that agree in these columns are read together; the key unless given, and always its beginning. */
  readonly group?: readonly string[];
  /** Not copied: it follows from the rest. */
  readonly uncopied?: Columns;
  /** Not copied: only servers that share a database need it. */
  readonly postgresOnly?: Columns;
  /** Not copied: it begins as the end of the row. SQLite looks for ended rows by it. */
  readonly sqliteOnly?: Columns;
}

function column<T>(kind: Column['kind']): Column<T> & { readonly orNull: Column<T | null> } {
  return { kind, isNullable: false, orNull: { kind, isNullable: true } };
}

const number = column<number>('number');
const time = column<Instant>('number');
const license = column<LicenseId>('number');
const text = column<string>('text');
const code = column<ErrorCode>('text');
const role = column<Role>('text');
const bytes = column<Uint8Array>('bytes');

const HOST = { hostname: text.orNull, address: text.orNull, info: text.orNull };
const HOLDER = {
  origin: text.orNull,
  counted_at: text.orNull,
  credential: text.orNull,
  spelling: text.orNull,
};
const PROGRAMS = { programs: text.orNull };
const SLOT = { registered_at: time, ends_at: time, borrowed_until: time.orNull, ...PROGRAMS };

/** `grain`: how many milliseconds it is long; 0 for the sum of what was forgotten. `at`: its start. */
const BUCKET = { license_id: license, feature: text, grain: number, at: time };
/** `others`: 1 for users that are not named. */
const NAMED = { user: text, others: number };

/**
 * Every table that both stores have, in the order in which `migrate-store` copies them. Row types and most of
 * the SQL are derived from this; a test compares it with the schema of both databases.
 */
export const TABLES = {
  server: {
    columns: {
      id: number,
      identity: text,
      mark: time.orNull,
      audit_n: number,
      audit_mac: bytes,
      audit_signed_links: number.orNull,
      hardware_id: text.orNull,
      usage_sequence: number,
      set_up_at: time.orNull,
      ignores_case: number,
      test_clock_ms: number.orNull,
    },
    key: ['id'],
    uncopied: { audit_anchor: bytes.orNull },
    postgresOnly: { alive_at: time.orNull, audit_chains: bytes.orNull, receipts: text, revision: number },
  },
  sealed_secret: { columns: { name: text, sealed: bytes }, key: ['name'] },
  account: {
    columns: {
      name: text,
      role,
      products: text.orNull,
      password_hash: text,
      created_at: time,
      one_time_at: time.orNull,
      one_time_used: number,
      second_factor_step: number.orNull,
      recovery_codes: text,
    },
    key: ['name'],
  },
  token: {
    columns: {
      token_hash: text,
      id: text,
      kind: column<TokenKind>('text'),
      account: text.orNull,
      name: text.orNull,
      role: role.orNull,
      products: text.orNull,
      issued_at: time,
      used_at: time,
      expires_at: time.orNull,
      restriction: column<TokenRestriction>('text').orNull,
      is_used: number,
    },
    key: ['token_hash'],
  },
  license: {
    columns: {
      id: license,
      product: text,
      facts: text,
      added_order: number,
      added_at: time,
      in_use: number,
      audit_n: number,
      audit_mac: bytes,
      removed_at: time.orNull,
    },
    key: ['id'],
    uncopied: { counts: text.orNull },
    postgresOnly: { audit_anchor: bytes.orNull, mark: time, receipts: text, line_version: number },
  },
  registration: {
    columns: { license_id: license, user: text, ...HOST, ...SLOT, ...HOLDER },
    key: ['license_id', 'user'],
    sqliteOnly: { due_at: time },
  },
  feature_slot: {
    columns: { license_id: license, user: text, feature: text, ...SLOT },
    key: ['license_id', 'user', 'feature'],
    group: ['license_id', 'user'],
  },
  ended_borrow: {
    columns: {
      license_id: license,
      user: text,
      feature: text,
      ...HOST,
      registered_at: time,
      borrowed_until: time,
      ...PROGRAMS,
      ...HOLDER,
      ended_at: time,
    },
    key: ['license_id', 'user', 'feature'],
  },
  denial: {
    columns: { license_id: license, user: text, feature: text, code, denied_at: time, repeated: number },
    key: ['license_id', 'user', 'feature', 'code'],
    group: ['license_id', 'user'],
  },
  place_denial: {
    columns: { license_id: license, place: text, code, denied_at: time, recorded: number, repeated: number },
    key: ['license_id', 'place', 'code'],
    group: ['license_id', 'place'],
  },
  meter: {
    columns: {
      license_id: license,
      feature: text,
      pending: number,
      reported: number,
      in_use: number,
      cloud_total: number.orNull,
      cloud_at: time.orNull,
    },
    key: ['license_id', 'feature'],
  },
  consumption_total: {
    columns: { license_id: license, feature: text, window_start: time, total: number },
    key: ['license_id', 'feature', 'window_start'],
  },
  report: {
    columns: {
      id: text,
      license_id: license,
      feature: text,
      amount: number,
      cut_at: time,
      uncertain_at: time.orNull,
    },
    key: ['id'],
  },
  remembered_answer: {
    columns: {
      license_id: license,
      operation: text,
      user: text,
      key: text,
      body_hash: text,
      answered_at: time,
      outcome: text,
    },
    key: ['license_id', 'operation', 'user', 'key'],
  },
  offline_request: {
    columns: {
      id: text,
      request: text,
      product: text.orNull,
      license_key: text.orNull,
      made_at: time,
      answered_by: license.orNull,
    },
    key: ['id'],
  },
  bar: {
    columns: {
      kind: column<BarKind>('text'),
      pattern: text,
      note: text.orNull,
      added_by: text,
      added_at: time,
    },
    key: ['kind', 'pattern'],
  },
  rules_revision: {
    columns: {
      revision: number,
      text,
      written_in: number,
      rules: text,
      group_ages: text,
      applied_by: text,
      applied_at: time,
    },
    key: ['revision'],
  },
  setting: {
    columns: { name: text, value: text, changed_by: text, changed_at: time },
    key: ['name'],
  },
  follower: { columns: { name: text, seq: number, place: number, memory: text.orNull }, key: ['name'] },
  notice: { columns: { kind: text, subject: text, value: number }, key: ['kind', 'subject'] },
  history_slot: {
    columns: {
      ...BUCKET,
      grants: number,
      returns: number,
      denials: number,
      peak: number,
      net: number,
      late: number,
      borrowed: number,
    },
    key: ['license_id', 'feature', 'grain', 'at'],
  },
  history_person: {
    columns: {
      ...BUCKET,
      ...NAMED,
      grants: number,
      denials: number,
      sessions: number,
      held_ms: number,
      last_at: time,
    },
    key: ['license_id', 'user', 'others', 'feature', 'grain', 'at'],
  },
  history_denial: {
    columns: {
      ...BUCKET,
      ...NAMED,
      host: text,
      address: text,
      reason: code,
      rule: text,
      denials: number,
      first_at: time,
      last_at: time,
      slots: number.orNull,
      in_use: number.orNull,
      borrowed: number.orNull,
      next_free_at: time.orNull,
    },
    key: ['license_id', 'user', 'others', 'host', 'address', 'feature', 'reason', 'rule', 'grain', 'at'],
  },
  history_reservation: {
    columns: {
      product: text,
      feature: text,
      rule: text,
      at: time,
      minutes: number,
      reserved: number,
      unused: number,
    },
    key: ['product', 'feature', 'rule', 'at'],
  },
  history_consumption: {
    columns: { license_id: license, feature: text, at: time, amount: number },
    key: ['license_id', 'feature', 'at'],
  },
  history_duration: {
    columns: { license_id: license, feature: text, at: time, minutes: number, sessions: number },
    key: ['license_id', 'feature', 'at', 'minutes'],
  },
  history_wait: {
    columns: {
      license_id: license,
      feature: text,
      at: time,
      seconds: number,
      served: number,
      unserved: number,
    },
    key: ['license_id', 'feature', 'at', 'seconds'],
  },
  audit_link: {
    columns: {
      // SQLite numbers links as it writes them, PostgreSQL afterwards.
      seq: number.orNull,
      chain: number,
      n: number,
      at: time,
      events: text,
      mac: bytes,
    },
    key: ['chain', 'n'],
    postgresOnly: { id: number },
  },
  audit_segment: {
    columns: {
      chain: number,
      first_n: number,
      last_n: number,
      first_mac: bytes,
      last_mac: bytes,
      first_at: time,
      last_at: time,
      links: number,
      events: number,
      totals: text,
      mac: bytes,
    },
    key: ['chain'],
  },
} as const satisfies Record<string, Table>;

export type TableName = keyof typeof TABLES;

type Described<N extends TableName> = (typeof TABLES)[N];

type Values<C> = { readonly [K in keyof C]: C[K] extends Column<infer T> ? T : never };

type Optional<N extends TableName, P extends keyof Table> = P extends keyof Described<N>
  ? Values<Described<N>[P]>
  : unknown;

/** A row as both stores return it. */
export type RowOf<N extends TableName> = Values<Described<N>['columns']> & Optional<N, 'uncopied'>;

export type PostgresRowOf<N extends TableName> = RowOf<N> & Optional<N, 'postgresOnly'>;

export type SqliteRowOf<N extends TableName> = RowOf<N> & Optional<N, 'sqliteOnly'>;

type GroupColumns<N extends TableName> =
  Described<N> extends { group: readonly (infer G)[] } ? G : Described<N>['key'][number];

/** What identifies a row. A whole row will do. */
export type KeyOf<N extends TableName> = Pick<RowOf<N>, Described<N>['key'][number] & keyof RowOf<N>>;

/** What identifies rows that are read together. */
export type GroupOf<N extends TableName> = Pick<RowOf<N>, GroupColumns<N> & keyof RowOf<N>>;

export const TABLE_NAMES = Object.keys(TABLES) as readonly TableName[];

export function tableOf(name: TableName): Required<Pick<Table, 'columns' | 'key' | 'group'>> {
  const { columns, key, group = key }: Table = TABLES[name];
  return { columns, key, group };
}

export function columnsOf(name: TableName): readonly string[] {
  return Object.keys(TABLES[name].columns);
}

/** Columns that only SQLite has. */
export function sqliteColumnsOf(name: TableName): readonly string[] {
  const { sqliteOnly = {} }: Table = TABLES[name];
  return Object.keys(sqliteOnly);
}

/** Quoted for both databases: some names are SQL keywords. */
export function quoteNames(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ');
}
