import { z } from 'zod';
import { described } from '../fields.ts';
import { backupStatus } from './backup.ts';
import { clockStatus } from './clock.ts';
import { linkError } from './cloud.ts';
import { keysObject } from './keys.ts';
import type { Operations } from './operation.ts';

const date = z.string().nullable();

const cloudStatus = z
  .object({
    url: described(z.string().nullable(), 'Its address; null if none is configured.'),
    state: described(
      z.enum(['not_configured', 'no_keys', 'untried', 'ok', 'refused', 'failing']),
      'The result of the last request.',
    ),
    reached_at: described(date, 'When it was last reached, UTC.'),
    failing_at: described(date, 'Since when it has not been reached, UTC.'),
    error: described(linkError.nullable(), 'The last error.'),
    clock_ahead_ms: described(
      z.number().nullable(),
      "How far its clock was ahead of this machine's at the last answer; null: unknown.",
    ),
    pending: described(z.int(), 'Consumption not in a report yet.'),
    reports_under_way: described(z.int(), 'Reports that are not answered yet.'),
    reports_uncertain: described(z.int(), 'Reports with an unknown result.'),
  })
  .meta({ id: 'CloudStatus', description: 'The state of the link to the licensing cloud.' });

const deliveryStatus = z
  .object({
    state: described(
      z.enum(['off', 'no_secret', 'untried', 'ok', 'failing']),
      'The result of the last delivery; `no_secret`: there is none to sign events with.',
    ),
    delivered_at: described(date, 'When the last event was delivered, UTC; a test counts.'),
    failing_at: described(date, 'Since when deliveries fail, UTC.'),
    error: described(z.string().nullable(), 'The last error.'),
    waiting: described(z.int(), 'Undelivered events, up to 1000; after a start, those counted so far.'),
    delivered: described(z.int(), 'Events that were delivered since the start.'),
    dropped: described(z.int(), 'Events that were dropped since the start.'),
  })
  .meta({ id: 'DeliveryStatus', description: 'The state of the delivery of events to a receiver.' });

const tlsStatus = z
  .object({
    subject: described(z.string(), 'Whose certificate it is.'),
    fingerprint256: described(z.string(), 'Its fingerprint.'),
    valid_until: described(z.string(), 'When it expires, UTC.'),
    asks_clients: described(z.boolean(), 'Whether clients are asked for certificates.'),
    error: described(z.string().nullable(), 'Why the current files are not in use.'),
  })
  .meta({ id: 'TlsStatus', description: 'The current certificate.' });

const storeStatus = z
  .object({
    kind: described(z.string(), 'Which database it is.'),
    engine: described(z.string(), 'Its version.'),
    host: described(z.string().nullable(), 'Which host is in use; null for SQLite.'),
    schema_version: described(z.int(), 'The version of its tables.'),
    identity: described(z.string(), 'The id of the store.'),
    hardware_id: described(date, 'The hardware id at the last start; null: it was never started.'),
    licenses: described(z.int(), 'How many licenses there are.'),
    registrations: described(z.int(), 'How many slots are in use.'),
    is_one_time_password_in_use: described(
      z.boolean(),
      'Whether an administrator has the generated password.',
    ),
    has_test_clock: described(z.boolean(), 'Whether it is for tests, which move the time.'),
  })
  .meta({ id: 'StoreStatus', description: 'The database, and what is in it.' });

const statusObject = keysObject.extend({
  version: described(z.string(), 'The version of the server.'),
  url: described(z.string().nullable(), 'The address of the server; null if it is stopped.'),
  uptime_seconds: described(z.number(), 'How long it has been running.'),
  tls: described(tlsStatus.nullable(), 'The current certificate; null for plain HTTP.'),
  data: described(z.string(), 'The data folder.'),
  database: described(
    z.string().nullable(),
    'The shared database, without its secrets; null for SQLite in the data folder.',
  ),
  leader: described(z.boolean(), 'Whether this server does the background work of all servers.'),
  healthy: described(z.boolean(), 'Whether the store works.'),
  store: storeStatus,
  hardware_id: described(z.string(), 'The hardware id of this server.'),
  identity_key: described(
    z.string(),
    'The fingerprint of the key that signs exports, requests and usage files.',
  ),
  cloud: cloudStatus,
  webhooks: deliveryStatus,
  syslog: deliveryStatus,
  events_file: deliveryStatus,
  backup: backupStatus,
  clock: described(clockStatus.nullable(), 'The clock; null if the store cannot be read.'),
});

export type Status = z.output<typeof statusObject>;

export const STATUS_API = {
  'GET /api/admin/status': { answer: statusObject },
} as const satisfies Operations;
