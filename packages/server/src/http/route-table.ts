import type { Accounts } from '../services/access/accounts.ts';
import type { SingleSignOn } from '../services/access/single-sign-on.ts';
import type { AuditTrail } from '../services/audit/audit-trail.ts';
import type { Backups } from '../services/backups/backups.ts';
import type { CloudLink } from '../services/cloud/cloud-link.ts';
import type { Credentials } from '../services/cloud/credentials.ts';
import type { Doctor } from '../services/doctor/doctor.ts';
import type { Channels } from '../services/events/channels.ts';
import type { Deliveries } from '../services/events/deliveries.ts';
import type { EventFeed } from '../services/events/event-feed.ts';
import type { Webhooks } from '../services/events/webhooks.ts';
import type { GrantKeyAdmin } from '../services/grants/grant-key-admin.ts';
import type { GrantKeys } from '../services/grants/grant-keys.ts';
import type { Grants } from '../services/grants/grants.ts';
import type { History } from '../services/history/history.ts';
import type { Identity } from '../services/identity/identity.ts';
import type { KeyCustody } from '../services/keys/key-custody.ts';
import type { Catalogue } from '../services/lending/catalogue.ts';
import type { Counting } from '../services/lending/counting.ts';
import type { Lending } from '../services/lending/lending.ts';
import type { Oversight } from '../services/lending/oversight.ts';
import type { TestClock } from '../services/lending/test-clock.ts';
import type { Metrics } from '../services/metrics/metrics.ts';
import type { Offline } from '../services/offline/offline.ts';
import type { RuleBook } from '../services/rules/rule-book.ts';
import type { RuleTrials } from '../services/rules/rule-trials.ts';
import type { LiveSettings } from '../services/settings/live-settings.ts';
import type { AuthSettings } from './access/caller.ts';
import { createPageSource } from './page-source.ts';
import { createDenialReply } from './reply/denial-reply.ts';
import type { Route, Tag } from './route.ts';
import { auditRoutes } from './routes/admin/audit.ts';
import { backupRoutes } from './routes/admin/backup.ts';
import { barRoutes } from './routes/admin/bars.ts';
import { channelRoutes } from './routes/admin/channels.ts';
import { clockRoutes } from './routes/admin/clock.ts';
import { cloudRoutes } from './routes/admin/cloud.ts';
import { doctorRoutes } from './routes/admin/doctor.ts';
import { eventRoutes } from './routes/admin/events.ts';
import { historyRoutes } from './routes/admin/history.ts';
import { identityRoutes } from './routes/admin/identity.ts';
import { keyAdminRoutes } from './routes/admin/keys.ts';
import { licenseAdminRoutes } from './routes/admin/licenses.ts';
import { lineRoutes } from './routes/admin/line.ts';
import { providerRoutes } from './routes/admin/provider.ts';
import { registrationRoutes } from './routes/admin/registrations.ts';
import { ruleTrialRoutes } from './routes/admin/rule-trials.ts';
import { ruleMemberRoutes, ruleRoutes } from './routes/admin/rules.ts';
import { secondFactorRoutes } from './routes/admin/second-factor.ts';
import { sessionRoutes } from './routes/admin/session.ts';
import { settingsRoutes } from './routes/admin/settings.ts';
import { type ServerFacts, statusRoutes } from './routes/admin/status.ts';
import { testClockRoutes } from './routes/admin/test-clock.ts';
import { tokenRoutes } from './routes/admin/tokens.ts';
import { userRoutes } from './routes/admin/users.ts';
import { webhookRoutes } from './routes/admin/webhooks.ts';
import { docsRoutes } from './routes/docs.ts';
import { metricsRoute } from './routes/metrics.ts';
import { pageRoutes } from './routes/page.ts';
import { publicRoutes } from './routes/public.ts';
import { consumptionRoutes } from './routes/v4/consumption.ts';
import { featureRoutes } from './routes/v4/features.ts';
import { keyRoutes } from './routes/v4/keys.ts';
import { lendingRoutes } from './routes/v4/lending.ts';
import { licenseRoutes } from './routes/v4/licenses.ts';
import { offlineRoutes } from './routes/v4/offline.ts';
import { passwordRoutes } from './routes/v4/password.ts';
import { productRoutes } from './routes/v4/products.ts';
import { createStoreGate } from './routes/v4/store-gate.ts';

export interface Services {
  readonly accounts: Accounts;
  readonly audit: AuditTrail;
  readonly backups: Backups;
  readonly catalogue: Catalogue;
  readonly counting: Counting;
  readonly lending: Lending;
  readonly oversight: Oversight;
  readonly testClock: TestClock;
  readonly credentials: Credentials;
  readonly custody: KeyCustody;
  readonly doctor: Doctor;
  readonly cloudLink: CloudLink;
  readonly grants: Grants;
  readonly grantKeys: GrantKeys;
  readonly history: History;
  readonly identity: Identity;
  readonly grantKeyAdmin: GrantKeyAdmin;
  readonly offline: Offline;
  readonly ruleBook: RuleBook;
  readonly ruleTrials: RuleTrials;
  readonly feed: EventFeed;
  readonly webhooks: Webhooks;
  readonly channels: Channels;
  readonly syslog: Deliveries;
  readonly eventsFile: Deliveries;
  readonly metrics: Metrics;
  readonly allowKeysInUrl: boolean;
  readonly auth: AuthSettings;
  readonly settings: LiveSettings;
  readonly singleSignOn: SingleSignOn;
  readonly listLogLines: () => readonly string[];
  readonly facts: ServerFacts;
  readonly readMonotonicMs: () => number;
}

/** All routes of the server, in the order of the documentation. */
export function createRoutes(services: Services): readonly Route[] {
  const { accounts, catalogue, counting, lending, cloudLink, offline, facts } = services;
  const findPage = createPageSource();
  const forThisStore = createStoreGate(services.identity);
  const replyDenial = createDenialReply(services.readMonotonicMs);
  const routes: readonly Route[] = [
    ...tagged('Lending', forThisStore(lendingRoutes({ ...services, replyDenial }))),
    ...tagged('Consumption', forThisStore(consumptionRoutes(counting))),
    ...tagged('Features', forThisStore(featureRoutes({ ...services, replyDenial }))),
    ...tagged('Licenses', licenseRoutes(catalogue)),
    ...tagged('Products', productRoutes(services)),
    ...tagged('Offline licensing', offlineRoutes(offline)),
    ...tagged('Credentials', keyRoutes(services), passwordRoutes(services)),
    ...tagged('Admin: slots', registrationRoutes(lending), lineRoutes(lending)),
    ...tagged('Admin: server', statusRoutes(services), licenseAdminRoutes(catalogue, services.offline)),
    ...tagged('Admin: server', clockRoutes(services.oversight), testClockRoutes(services)),
    ...tagged('Admin: history', historyRoutes(services.history)),
    ...tagged('Admin: audit log', auditRoutes(services), eventRoutes(services.feed)),
    ...tagged('Admin: licensing cloud', cloudRoutes(cloudLink, offline)),
    ...tagged('Admin: rules', ruleRoutes(services.ruleBook), barRoutes(services.ruleBook.bars)),
    ...tagged('Admin: rules', ruleMemberRoutes(services.ruleBook), ruleTrialRoutes(services.ruleTrials)),
    ...tagged('Admin: server', keyAdminRoutes(services), identityRoutes(services.grantKeyAdmin)),
    ...tagged('Admin: accounts', userRoutes(accounts), tokenRoutes(accounts.tokens)),
    ...tagged('Admin: accounts', sessionRoutes({ ...services, listRoutes: () => routes })),
    ...tagged('Admin: accounts', secondFactorRoutes(services), providerRoutes(services)),
    ...tagged('Admin: server', settingsRoutes(services.settings), webhookRoutes(services.webhooks)),
    ...tagged('Admin: server', channelRoutes(services.channels), doctorRoutes(services)),
    ...tagged('Admin: server', backupRoutes(services)),
    ...tagged(
      'Server',
      publicRoutes({ ...services, version: facts.version, findPage }),
      pageRoutes(findPage, services.settings.current.page.logo),
      [metricsRoute(services.metrics)],
      docsRoutes(() => routes, facts.version),
    ),
  ];
  return routes;
}

function tagged(tag: Tag, ...groups: readonly (readonly Route[])[]): readonly Route[] {
  return groups.flat().map((route) => ({ ...route, tag }));
}
