import { name, strictLicenseId } from '@berth/protocol/fields';
import { licenseObject } from '@berth/protocol/license-object';
import { z } from 'zod';
import { endOf, type License, licenseState } from '../../../core/license.ts';
import type { AuditTrail } from '../../../services/audit-trail.ts';
import type { Catalogue } from '../../../services/catalogue.ts';
import type { CertificateFacts } from '../../../services/certificates.ts';
import type { CloudLink } from '../../../services/cloud-link.ts';
import type { Identity } from '../../../services/identity.ts';
import type { Executed } from '../../../services/lending.ts';
import type { Oversight } from '../../../services/oversight.ts';
import type { Webhooks } from '../../../services/webhooks.ts';
import { actorOf } from '../../caller.ts';
import { presentLicense } from '../../present-license.ts';
import { refusalReply } from '../../problem.ts';
import { json, jsonText, type Reply } from '../../reply.ts';
import { defineRoute, type Route } from '../../route.ts';
import { toWire } from '../../to-wire.ts';
import { type KeyAdministration, keysObject, presentKeys } from './keys.ts';

/** What the process itself knows about how it runs. */
export interface ServerFacts {
  readonly version: string;
  readonly data: string;
  /** The database that is shared with other servers, without its secrets; `null`: there is none. */
  readonly database: string | null;
  /** The address it serves, or `null` when a command has opened a stopped server's data. */
  readUrl(): string | null;
  readUptimeSeconds(): number;
  /** The certificate that it shows, or `null` where it speaks plain HTTP. */
  readTls(): CertificateFacts | null;
}

interface OversightServices extends KeyAdministration {
  readonly oversight: Oversight;
  readonly audit: AuditTrail;
  readonly catalogue: Catalogue;
  readonly cloudLink: CloudLink;
  readonly identity: Identity;
  readonly webhooks: Webhooks;
  readonly facts: ServerFacts;
}

const clockStatus = z.object({
  server_at: z.string(),
  wall_at: z.string(),
  ahead_ms: z.number().meta({ description: "how far the server's time is ahead of the wall clock" }),
  jump: z
    .object({ direction: z.enum(['ahead', 'behind']), seen_at: z.string(), gap_ms: z.number() })
    .nullable(),
  jump_at_start: z
    .object({ from: z.string(), to: z.string() })
    .nullable()
    .meta({ description: 'the time went far ahead while the server was stopped' }),
});

const namedBorrow = z.object({
  license_id: z.int(),
  product: z.string(),
  feature: z.string().nullable().meta({ description: "null: the license's own slot" }),
  user: z.string(),
  borrowed_until: z.string(),
});

const consent = z.boolean({ error: 'must be true or false' }).optional();

const cloudStatus = z.looseObject({
  state: z.enum(['not_configured', 'no_keys', 'untried', 'ok', 'refused', 'failing']),
  reached_at: z.string().nullable(),
  failing_at: z.string().nullable().meta({ description: 'since when it has not been reached' }),
  error: z.object({ code: z.string(), reason: z.string().nullable(), message: z.string() }).nullable(),
  pending: z.int().meta({ description: 'consumption that is in no report yet' }),
  reports_under_way: z.int(),
  reports_uncertain: z.int(),
});

const webhookStatus = z.looseObject({
  state: z.enum(['off', 'untried', 'ok', 'failing']),
  delivered_at: z.string().nullable(),
  failing_at: z.string().nullable().meta({ description: 'since when the receiver takes nothing' }),
  error: z.string().nullable(),
  waiting: z.int().meta({ description: 'events that are not delivered yet; not counted beyond a thousand' }),
  delivered: z.int().meta({ description: 'since the start' }),
  dropped: z.int().meta({ description: 'events that were given up since the start' }),
});

const tlsStatus = z.object({
  subject: z.string(),
  fingerprint256: z.string(),
  valid_until: z.string(),
  asks_clients: z.boolean().meta({ description: 'whether clients are asked for certificates' }),
  error: z.string().nullable().meta({ description: 'why what lies in the files now is not in force' }),
});

const statusObject = keysObject
  .extend({
    version: z.string(),
    tls: tlsStatus.nullable().meta({ description: 'the certificate in force; null is plain HTTP' }),
    database: z
      .string()
      .nullable()
      .meta({ description: 'the shared database, without its secrets; null is SQLite in the data folder' }),
    leader: z.boolean().meta({ description: 'whether this server does the background work for all' }),
    hardware_id: z.string(),
    identity_key: z
      .string()
      .meta({ description: 'the fingerprint of the key that signs exports, requests and usage files' }),
    cloud: cloudStatus,
    webhooks: webhookStatus,
    clock: clockStatus.nullable(),
  })
  .loose();

export function oversightRoutes(services: OversightServices): readonly Route[] {
  const { oversight, catalogue } = services;
  return [
    statusRoute(services),
    licensesRoute(catalogue),
    clockRoute(oversight),
    clockAcceptRoute(oversight),
    clockResetRoute(oversight),
  ];
}

function statusRoute(services: OversightServices): Route {
  const { oversight, audit, cloudLink, identity, webhooks, facts } = services;
  return defineRoute({
    name: 'admin_status',
    methods: ['GET'],
    paths: ['/api/admin/status'],
    access: 'operator',
    summary: 'How the server is',
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
    query: z.object({ product: name, license_id: strictLicenseId }),
    answer: { kind: 'json', schema: z.object({ licenses: z.array(licenseObject.loose()) }) },
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

/** The license object with what only an administrator needs. */
function presentRecord(record: Awaited<ReturnType<Catalogue['list']>>[number]): string {
  const { license, now, borrowed, addedAt } = record;
  const { checkedAt, movedAt } = license.tie;
  const state = licenseState(license, now);
  const endsAt = endOf(license, now);
  const facts = { source: license.source, state, endsAt, borrowed, addedAt, checkedAt, movedAt };
  const extra = JSON.stringify({ ...toWire(facts), ...presentAssurance(license) });
  return `${presentLicense({ ...record, registration: null }).slice(0, -1)},${extra.slice(1)}`;
}

/** How far the cloud's word about the license can be trusted; nothing for licenses from elsewhere. */
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
    summary: "The server's time beside the wall clock",
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
    summary: 'Follow a wall clock that is ahead; live slots get their timeout again',
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
    summary: 'Go back to the wall clock after a wrong one; borrows that the wrong time ended come back',
    body: z.object({
      dry_run: consent.meta({ description: 'change nothing, only tell what would happen' }),
      accept_losses: consent.meta({ description: 'go ahead although some borrows cannot come back' }),
    }),
    answer: {
      kind: 'json',
      schema: clockStatus.extend({
        restored: z.array(namedBorrow).meta({ description: 'borrows that come back' }),
        lost: z
          .array(namedBorrow.extend({ code: z.string(), reason: z.string() }))
          .meta({ description: 'borrows that stay ended, and why' }),
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
