import { STATUS_API } from '@berth/protocol/admin/status';
import type { AuditTrail } from '../../../services/audit/audit-trail.ts';
import type { Backups } from '../../../services/backups/backups.ts';
import type { CertificateFacts } from '../../../services/certificates/certificates.ts';
import type { CloudLink } from '../../../services/cloud/cloud-link.ts';
import type { Deliveries } from '../../../services/events/deliveries.ts';
import type { Webhooks } from '../../../services/events/webhooks.ts';
import type { Identity } from '../../../services/identity/identity.ts';
import type { Oversight } from '../../../services/lending/oversight.ts';
import { adminRoutes } from '../../admin-route.ts';
import { toWire } from '../../reply/to-wire.ts';
import type { Route } from '../../route.ts';
import { presentClock } from './clock.ts';
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

interface StatusServices extends KeyAdministration {
  readonly oversight: Oversight;
  readonly audit: AuditTrail;
  readonly backups: Backups;
  readonly cloudLink: CloudLink;
  readonly identity: Identity;
  readonly webhooks: Webhooks;
  readonly syslog: Deliveries;
  readonly eventsFile: Deliveries;
  readonly facts: ServerFacts;
}

export function statusRoutes(services: StatusServices): readonly Route[] {
  const { oversight, audit, backups, cloudLink, identity, webhooks, syslog, eventsFile, facts } = services;
  return adminRoutes(STATUS_API, {
    'GET /api/admin/status': {
      name: 'admin_status',
      access: 'viewer',
      summary: 'The state of the server',
      handle: async (_, send) =>
        send({
          version: facts.version,
          url: facts.readUrl(),
          uptime_seconds: facts.readUptimeSeconds(),
          ...toWire({ tls: facts.readTls() }),
          data: facts.data,
          database: facts.database,
          leader: oversight.isLeader(),
          healthy: oversight.isHealthy(),
          store: toWire(await oversight.describeStore()),
          hardware_id: await identity.readHardwareId(),
          identity_key: await audit.readKeyFingerprint(),
          ...(await presentKeys(services)),
          cloud: toWire(await cloudLink.describe()),
          webhooks: toWire(await webhooks.deliveries.describe()),
          syslog: toWire(await syslog.describe()),
          events_file: toWire(await eventsFile.describe()),
          backup: toWire(await backups.describe()),
          clock: await describeClock(oversight),
        }),
    },
  });
}

async function describeClock(oversight: Oversight) {
  const clock = await oversight.findClock();
  return clock === null ? null : presentClock(clock);
}
