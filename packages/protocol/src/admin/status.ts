import { z } from 'zod';
import { told } from '../fields.ts';
import { backupStatus } from './backup.ts';
import { clockStatus } from './clock.ts';
import { linkError } from './cloud.ts';
import { keysObject } from './keys.ts';
import type { Operations } from './operation.ts';

const date = z.string().nullable();

const cloudStatus = z
  .object({
    url: told(z.string().nullable(), 'Its address; null if none is configured.'),
    state: told(
      z.enum(['not_configured', 'no_keys', 'untried', 'ok', 'refused', 'failing']),
      'The result of the last request.',
    ),
    reached_at: told(date, 'When it was last reached, UTC.'),
    failing_at: told(date, 'Since when it has not been reached, UTC.'),
    error: told(linkError.nullable(), 'The last error.'),
    clock_ahead_ms: told(
      z.number().nullable(),
      "How far its clock was ahead of this machine's at the last answer; null: unknown.",
    ),
    pending: told(z.int(), 'Consumption not in a report yet.'),
    reports_under_way: told(z.int(), 'Reports that are not answered yet.'),
    reports_uncertain: told(z.int(), 'Reports with an unknown result.'),
  })
  .meta({ id: 'CloudStatus', description: 'The state of the link to the licensing cloud.' });

const webhookStatus = z
  .object({
    state: told(z.enum(['off', 'untried', 'ok', 'failing']), 'The result of the last delivery.'),
    delivered_at: told(date, 'When the last event was delivered, UTC.'),
    failing_at: told(date, 'Since when deliveries fail, UTC.'),
    error: told(z.string().nullable(), 'The last error.'),
    waiting: told(z.int(), 'Undelivered events, counted up to a thousand.'),
    delivered: told(z.int(), 'Events that were delivered since the start.'),
    dropped: told(z.int(), 'Events that were dropped since the start.'),
  })
  .meta({ id: 'WebhookStatus', description: 'The state of the delivery of events.' });

const tlsStatus = z
  .object({
    subject: told(z.string(), 'Whose certificate it is.'),
    fingerprint256: told(z.string(), 'Its fingerprint.'),
    valid_until: told(z.string(), 'When it expires, UTC.'),
    asks_clients: told(z.boolean(), 'Whether clients are asked for certificates.'),
    error: told(z.string().nullable(), 'Why the current files are not in use.'),
  })
  .meta({ id: 'TlsStatus', description: 'The current certificate.' });

const storeStatus = z
  .object({
    kind: told(z.string(), 'Which database it is.'),
    engine: told(z.string(), 'Its version.'),
    schema_version: told(z.int(), 'The version of its tables.'),
    identity: told(z.string(), 'The id of the store.'),
    hardware_id: told(date, 'The hardware id at the last start; null: it was never started.'),
    licenses: told(z.int(), 'How many licenses there are.'),
    registrations: told(z.int(), 'How many slots are in use.'),
    is_one_time_password_in_use: told(z.boolean(), 'Whether an administrator has the generated password.'),
  })
  .meta({ id: 'StoreStatus', description: 'The database, and what is in it.' });

const statusObject = keysObject.extend({
  version: told(z.string(), 'The version of the server.'),
  url: told(z.string().nullable(), 'The address of the server; null if it is stopped.'),
  uptime_seconds: told(z.number(), 'How long it has been running.'),
  tls: told(tlsStatus.nullable(), 'The current certificate; null for plain HTTP.'),
  data: told(z.string(), 'The data folder.'),
  database: told(
    z.string().nullable(),
    'The shared database, without its secrets; null for SQLite in the data folder.',
  ),
  leader: told(z.boolean(), 'Whether this server does the background work of all servers.'),
  healthy: told(z.boolean(), 'Whether the store works.'),
  store: storeStatus,
  hardware_id: told(z.string(), 'The hardware id of this server.'),
  identity_key: told(z.string(), 'The fingerprint of the key that signs exports, requests and usage files.'),
  cloud: cloudStatus,
  webhooks: webhookStatus,
  backup: backupStatus,
  clock: told(clockStatus.nullable(), 'The clock; null if the store cannot be read.'),
});

export type Status = z.output<typeof statusObject>;

export const STATUS_API = {
  'GET /api/admin/status': { answer: statusObject },
} as const satisfies Operations;
