import { licenseObject } from '@berth/protocol/api/license-object';
import { name, strictLicenseId, told } from '@berth/protocol/fields';
import { z } from 'zod';
import { endOf, type License, licenseState } from '../../../core/nouns/license.ts';
import type { AuditTrail } from '../../../services/audit/audit-trail.ts';
import type { CloudLink } from '../../../services/cloud/cloud-link.ts';
import type { Webhooks } from '../../../services/events/webhooks.ts';
import type { Catalogue } from '../../../services/lending/catalogue.ts';
import type { Executed } from '../../../services/lending/lending.ts';
import type { Oversight } from '../../../services/lending/oversight.ts';
import type { Backups } from '../../../services/upkeep/backups.ts';
import type { CertificateFacts } from '../../../services/upkeep/certificates.ts';
import type { Identity } from '../../../services/upkeep/identity.ts';
import { actorOf } from '../../access/caller.ts';
import { licenseFields } from '../../reply/present-license.ts';
import { refusalReply } from '../../reply/problem.ts';
import { fieldsOf, json, jsonText, type Reply } from '../../reply/reply.ts';
import { toWire } from '../../reply/to-wire.ts';
import { defineRoute, type Route } from '../../route.ts';
import { backupStatus } from './backup.ts';
import { linkError } from './cloud.ts';
import { type KeyAdministration, keysObject, presentKeys } from './keys.ts';

/** Facts about the running process. */
export interface ServerFacts {
  readonly version: string;
  readonly data: string;
  /** The database shared with other servers, without secrets; `null`: none. */
  readonly database: string | null;
  /** The server's address, or `null` if a command has opened the data of a stopped server. */
  readUrl(): string | null;
  readUptimeSeconds(): number;
  /** The server's certificate, or `null` for plain HTTP. */
  readTls(): CertificateFacts | null;
}

interface OversightServices extends KeyAdministration {
  readonly oversight: Oversight;
  readonly audit: AuditTrail;
  readonly backups: Backups;
  readonly catalogue: Catalogue;
  readonly cloudLink: CloudLink;
  readonly identity: Identity;
  readonly webhooks: Webhooks;
  readonly facts: ServerFacts;
}

const clockJump = z.object({
  direction: told(z.enum(['ahead', 'behind']), 'Which way the wall clock went.'),
  seen_at: told(z.string(), 'When it was seen, UTC.'),
  gap_ms: told(z.number(), 'How far it went.'),
});

const restJump = z.object({
  from: told(z.string(), 'When the server was stopped, UTC.'),
  to: told(z.string(), 'When it was started, UTC.'),
});

const endedBorrow = z
  .object({
    license_id: told(z.int(), 'The license.'),
    product: told(z.string(), 'Its product.'),
    feature: told(z.string().nullable(), "The feature; null for the license's own slot."),
    user: told(z.string(), 'Who borrowed it.'),
    borrowed_until: told(z.string(), 'Until when, UTC.'),
  })
  .meta({ id: 'EndedBorrow', description: 'A borrow that a wrong clock ended.' });

const lostBorrow = endedBorrow
  .extend({
    code: told(z.string(), 'The error code of the reason.'),
    reason: told(z.string(), 'Why it cannot be restored.'),
  })
  .meta({ id: 'LostBorrow', description: 'A borrow that a wrong clock ended and that cannot be restored.' });

const consent = z.boolean({ error: 'must be true or false' }).optional();

const clockStatus = z
  .object({
    server_at: told(z.string(), "The server's time, UTC."),
    wall_at: told(z.string(), 'The time of the wall clock, UTC.'),
    ahead_ms: told(z.number(), "How far the server's time is ahead of the wall clock."),
    jump: told(clockJump.nullable(), 'A jump of the wall clock that has not been accepted.'),
    jump_at_start: told(restJump.nullable(), 'The time went far ahead while the server was stopped.'),
  })
  .meta({ id: 'Clock', description: "The server's time and the wall clock." });

const date = z.string().nullable();

const cloudStatus = z
  .looseObject({
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
  .looseObject({
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

const statusObject = keysObject
  .extend({
    version: told(z.string(), 'The version of the server.'),
    tls: told(tlsStatus.nullable(), 'The current certificate; null for plain HTTP.'),
    database: told(
      z.string().nullable(),
      'The shared database, without its secrets; null for SQLite in the data folder.',
    ),
    leader: told(z.boolean(), 'Whether this server does the background work of all servers.'),
    hardware_id: told(z.string(), 'The hardware id of this server.'),
    identity_key: told(
      z.string(),
      'The fingerprint of the key that signs exports, requests and usage files.',
    ),
    cloud: cloudStatus,
    webhooks: webhookStatus,
    backup: backupStatus,
    clock: told(clockStatus.nullable(), 'The clock; null if the store cannot be read.'),
  })
  .loose();

const licenseRecord = licenseObject
  .extend({
    source: told(z.string(), 'Where the license came from.'),
    state: told(z.string(), 'Whether it can be used now.'),
    borrowed: told(z.int(), 'How many slots are borrowed.'),
    added_at: told(z.string(), 'When it was added, UTC.'),
    checked_at: told(date, 'When it was last checked at the licensing cloud, UTC.'),
    moved_at: told(date, 'Since when it belongs to another machine, UTC.'),
  })
  .loose()
  .meta({ id: 'LicenseRecord', extends: 'License', description: 'A license as administrators see it.' });

export function oversightRoutes(services: OversightServices): readonly Route[] {
  const { oversight, catalogue } = services;
  return [
    statusRoute(services),
    licensesRoute(catalogue),
    demoRoute(catalogue),
    clockRoute(oversight),
    clockAcceptRoute(oversight),
    clockResetRoute(oversight),
  ];
}

function statusRoute(services: OversightServices): Route {
  const { oversight, audit, backups, cloudLink, identity, webhooks, facts } = services;
  return defineRoute({
    name: 'admin_status',
    methods: ['GET'],
    paths: ['/api/admin/status'],
    access: 'operator',
    summary: 'The state of the server',
    answer: { kind: 'json', schema: statusObject },
    errors: [],
    handle: async () =>
      json({
        version: facts.version,
        url: facts.readUrl(),
        uptime_seconds: facts.readUptimeSeconds(),
        tls: presentTls(facts.readTls()),
        data: facts.data,
        database: facts.database,
        leader: oversight.isLeader(),
        healthy: oversight.isHealthy(),
        store: toWire(await oversight.describeStore()),
        hardware_id: await identity.readHardwareId(),
        identity_key: await audit.readKeyFingerprint(),
        ...(await presentKeys(services)),
        cloud: toWire(await cloudLink.describe()),
        webhooks: toWire(await webhooks.describe()),
        backup: toWire(await backups.describe()),
        clock: await describeClock(oversight),
      }),
  });
}

function presentTls(tls: CertificateFacts | null) {
  return tls === null ? null : toWire(tls);
}

async function describeClock(oversight: Oversight) {
  const clock = await oversight.findClock();
  return clock === null ? null : presentClock(clock);
}

function licensesRoute(catalogue: Catalogue): Route {
  return defineRoute({
    name: 'admin_licenses',
    methods: ['GET'],
    paths: ['/api/admin/licenses'],
    access: 'operator',
    summary: 'All licenses with their state, source and use',
    query: z.object({ product: told(name, 'The product code.'), license_id: strictLicenseId }),
    answer: { kind: 'json', schema: z.object({ licenses: told(z.array(licenseRecord), 'All of them.') }) },
    errors: [],
    handle: async ({ query }) => {
      const records = await catalogue.list(query.product ?? null);
      const meant = records.filter(
        ({ license }) => query.license_id === undefined || license.id === query.license_id,
      );
      return jsonText(`{"licenses":[${meant.map(presentRecord).join(',')}]}`);
    },
  });
}

function demoRoute(catalogue: Catalogue): Route {
  return defineRoute({
    name: 'admin_add_demo',
    methods: ['POST'],
    paths: ['/api/admin/licenses/add-demo'],
    access: 'admin',
    summary: 'Add the demo license with five slots, unless there is a license',
    answer: { kind: 'json', schema: z.object({ added: told(z.boolean(), 'Whether it was added.') }) },
    errors: [],
    handle: async () => json({ added: await catalogue.addDemo() }),
  });
}

/** The license object with extra fields for administrators. */
function presentRecord(record: Awaited<ReturnType<Catalogue['list']>>[number]): string {
  const { license, now, borrowed, addedAt } = record;
  const { checkedAt, movedAt } = license.tie;
  const state = licenseState(license, now);
  const endsAt = endOf(license, now);
  const facts = { source: license.source, state, endsAt, borrowed, addedAt, checkedAt, movedAt };
  const extra = fieldsOf({ ...toWire(facts), ...presentAssurance(license) });
  return `{${licenseFields({ ...record, registration: null })},${extra}}`;
}

/** How reliable the cloud's replies about the license are; empty for licenses from elsewhere. */
function presentAssurance({ source, tie }: License): Readonly<Record<string, unknown>> {
  if (source !== 'cloud') return {};
  const { isBound = false, unconfirmed = null, keptTotal = false } = tie.assurance ?? {};
  return {
    cloud_answers_bound: isBound,
    unconfirmed_verdict: unconfirmed,
    lower_total_kept_out: keptTotal,
  };
}

function clockRoute(oversight: Oversight): Route {
  return defineRoute({
    name: 'admin_clock',
    methods: ['GET'],
    paths: ['/api/admin/clock'],
    access: 'operator',
    summary: "The server's time and the wall clock",
    answer: { kind: 'json', schema: clockStatus },
    errors: [],
    handle: async () => json(presentClock(await oversight.readClock())),
  });
}

function clockAcceptRoute(oversight: Oversight): Route {
  return defineRoute({
    name: 'admin_clock_accept',
    methods: ['POST'],
    paths: ['/api/admin/clock/accept'],
    access: 'admin',
    summary: 'Accept a wall clock that is ahead; live slots get a new timeout',
    answer: { kind: 'json', schema: clockStatus },
    errors: ['clock_not_ahead'],
    handle: async ({ caller }) => clockReply(oversight, await oversight.acceptClock(actorOf(caller))),
  });
}

function clockResetRoute(oversight: Oversight): Route {
  return defineRoute({
    name: 'admin_clock_reset',
    methods: ['POST'],
    paths: ['/api/admin/clock/reset'],
    access: 'admin',
    summary: 'Return to the wall clock after it was wrong, and restore borrows that this ended',
    body: z.object({
      dry_run: told(consent, 'Change nothing; only report what would happen.'),
      accept_losses: told(consent, 'Continue even if some borrows cannot be restored.'),
    }),
    answer: {
      kind: 'json',
      schema: clockStatus.extend({
        restored: told(z.array(endedBorrow), 'Restored borrows.'),
        lost: told(z.array(lostBorrow), 'Borrows that cannot be restored, and why.'),
      }),
    },
    errors: ['clock_not_poisoned', 'borrows_not_restorable'],
    handle: async ({ body, caller }) => {
      const mode = body.dry_run === true ? 'trial' : body.accept_losses === true ? 'forced' : 'careful';
      const outcome = await oversight.resetClock(mode, actorOf(caller));
      if (outcome.kind !== 'clock_reset') return clockReply(oversight, outcome);
      const { restored, lost } = outcome;
      return json({ ...presentClock(await oversight.readClock()), ...toWire({ restored, lost }) });
    },
  });
}

async function clockReply(oversight: Oversight, outcome: Executed): Promise<Reply> {
  if (outcome.kind === 'refused') return refusalReply(outcome);
  return json(presentClock(await oversight.readClock()));
}

function presentClock({ now, wall, jump, jumpAtStart }: Awaited<ReturnType<Oversight['readClock']>>) {
  const rest = jumpAtStart === null ? null : { from: jumpAtStart.serverAt, to: jumpAtStart.wallAt };
  return toWire({ serverAt: now, wallAt: wall, aheadMs: now - wall, jump, jumpAtStart: rest });
}
