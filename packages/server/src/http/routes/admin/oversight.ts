import { CLOCK_API } from '@berth/protocol/admin/clock';
import { LICENSE_API } from '@berth/protocol/admin/licenses';
import { STATUS_API } from '@berth/protocol/admin/status';
import type { LicenseObject } from '@berth/protocol/api/license-object';
import { endOf, type License, licenseState } from '../../../core/nouns/license.ts';
import type { AuditTrail } from '../../../services/audit/audit-trail.ts';
import type { Backups } from '../../../services/backups/backups.ts';
import type { CertificateFacts } from '../../../services/certificates/certificates.ts';
import type { CloudLink } from '../../../services/cloud/cloud-link.ts';
import type { Webhooks } from '../../../services/events/webhooks.ts';
import type { Identity } from '../../../services/identity/identity.ts';
import type { Catalogue } from '../../../services/lending/catalogue.ts';
import type { Oversight } from '../../../services/lending/oversight.ts';
import { actorOf } from '../../access/caller.ts';
import { adminRoute } from '../../admin-route.ts';
import { licenseFields } from '../../reply/present-license.ts';
import { refusalReply } from '../../reply/problem.ts';
import { toWire } from '../../reply/to-wire.ts';
import type { Route } from '../../route.ts';
import { type KeyAdministration, presentKeys } from './keys.ts';

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
  return adminRoute(STATUS_API, 'GET /api/admin/status', {
    name: 'admin_status',
    access: 'operator',
    summary: 'The state of the server',
    errors: [],
    handle: async (_, send) =>
      send({
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
  return adminRoute(LICENSE_API, 'GET /api/admin/licenses', {
    name: 'admin_licenses',
    access: 'operator',
    summary: 'All licenses with their state, source and use',
    errors: [],
    handle: async ({ query }, send) => {
      const records = await catalogue.list(query.product ?? null);
      const meant = records.filter(
        ({ license }) => query.license_id === undefined || license.id === query.license_id,
      );
      return send({ licenses: meant.map(presentRecord) });
    },
  });
}

function demoRoute(catalogue: Catalogue): Route {
  return adminRoute(LICENSE_API, 'POST /api/admin/licenses/add-demo', {
    name: 'admin_add_demo',
    access: 'admin',
    summary: 'Add the demo license with five slots, unless there is a license',
    errors: [],
    handle: async (_, send) => send({ added: await catalogue.addDemo() }),
  });
}

/** The license object with extra fields for administrators. */
function presentRecord(record: Awaited<ReturnType<Catalogue['list']>>[number]) {
  const { license, now, borrowed, addedAt } = record;
  const { checkedAt, movedAt } = license.tie;
  const state = licenseState(license, now);
  const endsAt = endOf(license, now);
  const facts = { source: license.source, state, endsAt, borrowed, addedAt, checkedAt, movedAt };
  const object = JSON.parse(`{${licenseFields({ ...record, registration: null })}}`) as LicenseObject;
  return { ...object, ...toWire(facts), ...presentAssurance(license) };
}

/** How reliable the cloud's replies about the license are; empty for licenses from elsewhere. */
function presentAssurance({ source, tie }: License) {
  if (source !== 'cloud') return {};
  const { isBound = false, unconfirmed = null, keptTotal = false } = tie.assurance ?? {};
  return {
    cloud_answers_bound: isBound,
    unconfirmed_verdict: unconfirmed,
    lower_total_kept_out: keptTotal,
  };
}

function clockRoute(oversight: Oversight): Route {
  return adminRoute(CLOCK_API, 'GET /api/admin/clock', {
    name: 'admin_clock',
    access: 'operator',
    summary: "The server's time and the wall clock",
    errors: [],
    handle: async (_, send) => send(presentClock(await oversight.readClock())),
  });
}

function clockAcceptRoute(oversight: Oversight): Route {
  return adminRoute(CLOCK_API, 'POST /api/admin/clock/accept', {
    name: 'admin_clock_accept',
    access: 'admin',
    summary: 'Accept a wall clock that is ahead; live slots get a new timeout',
    errors: ['clock_not_ahead'],
    handle: async ({ caller }, send) => {
      const outcome = await oversight.acceptClock(actorOf(caller));
      if (outcome.kind === 'refused') return refusalReply(outcome);
      return send(presentClock(await oversight.readClock()));
    },
  });
}

function clockResetRoute(oversight: Oversight): Route {
  return adminRoute(CLOCK_API, 'POST /api/admin/clock/reset', {
    name: 'admin_clock_reset',
    access: 'admin',
    summary: 'Return to the wall clock after it was wrong, and restore borrows that this ended',
    errors: ['clock_not_poisoned', 'borrows_not_restorable'],
    handle: async ({ body, caller }, send) => {
      const mode = body.dry_run === true ? 'trial' : body.accept_losses === true ? 'forced' : 'careful';
      const outcome = await oversight.resetClock(mode, actorOf(caller));
      if (outcome.kind === 'refused') return refusalReply(outcome);
      const { restored, lost } = outcome.kind === 'clock_reset' ? outcome : { restored: [], lost: [] };
      return send({ ...presentClock(await oversight.readClock()), ...toWire({ restored, lost }) });
    },
  });
}

function presentClock({ now, wall, jump, jumpAtStart }: Awaited<ReturnType<Oversight['readClock']>>) {
  const rest = jumpAtStart === null ? null : { from: jumpAtStart.serverAt, to: jumpAtStart.wallAt };
  return toWire({ serverAt: now, wallAt: wall, aheadMs: now - wall, jump, jumpAtStart: rest });
}
