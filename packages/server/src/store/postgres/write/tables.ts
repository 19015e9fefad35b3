import type { TableSpec } from './row-table.ts';

const USER = 'user';

/** The tables that hot commands read and write row by row; a batch writes each of them at once. */
export const TABLES = {
  registration: {
    name: 'registration',
    columns: {
      license_id: 'bigint',
      user: 'text',
      hostname: 'text',
      address: 'text',
      info: 'text',
      registered_at: 'bigint',
      ends_at: 'bigint',
      borrowed_until: 'bigint',
      origin: 'text',
      credential: 'text',
      spelling: 'text',
    },
    key: ['license_id', USER],
    group: ['license_id', USER],
  },
  feature_slot: {
    name: 'feature_slot',
    columns: {
      license_id: 'bigint',
      user: 'text',
      feature: 'text',
      registered_at: 'bigint',
      ends_at: 'bigint',
      borrowed_until: 'bigint',
    },
    key: ['license_id', USER, 'feature'],
    group: ['license_id', USER],
  },
  denial: {
    name: 'denial',
    columns: {
      license_id: 'bigint',
      user: 'text',
      feature: 'text',
      code: 'text',
      denied_at: 'bigint',
      repeated: 'bigint',
    },
    key: ['license_id', USER, 'feature', 'code'],
    group: ['license_id', USER],
  },
  place_denial: {
    name: 'place_denial',
    columns: {
      license_id: 'bigint',
      place: 'text',
      code: 'text',
      denied_at: 'bigint',
      recorded: 'bigint',
      repeated: 'bigint',
    },
    key: ['license_id', 'place', 'code'],
    group: ['license_id', 'place'],
  },
  meter: {
    name: 'meter',
    columns: {
      license_id: 'bigint',
      feature: 'text',
      pending: 'bigint',
      reported: 'bigint',
      cloud_total: 'bigint',
      cloud_at: 'bigint',
      in_use: 'bigint',
    },
    key: ['license_id', 'feature'],
    group: ['license_id', 'feature'],
  },
  consumption_total: {
    name: 'consumption_total',
    columns: { license_id: 'bigint', feature: 'text', window_start: 'bigint', total: 'bigint' },
    key: ['license_id', 'feature', 'window_start'],
    group: ['license_id', 'feature', 'window_start'],
  },
  remembered_answer: {
    name: 'remembered_answer',
    columns: {
      license_id: 'bigint',
      operation: 'text',
      user: 'text',
      key: 'text',
      body_hash: 'text',
      answered_at: 'bigint',
      outcome: 'text',
    },
    key: ['license_id', 'operation', USER, 'key'],
    group: ['license_id', 'operation', USER, 'key'],
  },
} as const satisfies Record<string, TableSpec>;

export type TableName = keyof typeof TABLES;
