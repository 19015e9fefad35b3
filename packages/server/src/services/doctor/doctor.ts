import { existsSync } from 'node:fs';
import { CHECKS } from '@berth/protocol/admin/choices';
import {
  explainOpen,
  explainReadable,
  explainSharing,
  explainWritable,
  isContainer,
} from '@berth/shell/files/file-sharing';
import type { Config } from '../../config.ts';
import type { Check, Finding, Verdict } from '../../core/doctor/finding.ts';
import { judgeBackup } from '../../core/doctor/judge-backup.ts';
import { type ExposureFacts, judgeCertificate, judgeExposure } from '../../core/doctor/judge-exposure.ts';
import { judgeGrants } from '../../core/doctor/judge-grants.ts';
import {
  judgeChannels,
  judgeCloud,
  judgeDatabase,
  judgeDirectory,
  judgeForwarding,
  judgeProvider,
  judgeVersions,
  judgeWebhooks,
  type VersionFacts,
} from '../../core/doctor/judge-links.ts';
import { judgeClock, judgeDiskHealth, judgeFiles, judgeRules } from '../../core/doctor/judge-machine.ts';
import { type Instant, instant } from '../../core/nouns/instant.ts';
import { listGroupsOfDirectory } from '../../core/rules/directory-groups.ts';
import { CHECK_FILE } from '../../store/query.ts';
import type { Store } from '../../store/store.ts';
import type { DirectoryPeople } from '../access/directory-people.ts';
import type { SingleSignOn } from '../access/single-sign-on.ts';
import type { Backups } from '../backups/backups.ts';
import { findDiskSpace } from '../backups/disk-space.ts';
import { CertificateError, loadFiles } from '../certificates/certificate-files.ts';
import type { CloudLink } from '../cloud/cloud-link.ts';
import type { Channels } from '../events/channels.ts';
import type { Deliveries } from '../events/deliveries.ts';
import { listDoubts } from '../grants/certificate-doubts.ts';
import type { FindUncertified } from '../grants/coverage.ts';
import { openRulesFile, type ParseText, RulesError, readRules } from '../rules/rules-file.ts';
import { measureSyncs } from './measure-syncs.ts';
import { listSteeringFiles } from './steering-files.ts';

/** Examines the server and its surroundings, and says what to do about what it finds. */
export interface Doctor {
  /** Changes nothing. Callers that come while it runs get the same answer. */
  examine(): Promise<readonly Finding[]>;
}

export interface DoctorOptions {
  readonly config: Config;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The file with the master key; `null` if it is in the environment. */
  readonly keyFile: string | null;
  readonly isShared: boolean;
  readonly exposure: Omit<ExposureFacts, 'isOneTimePasswordInUse' | 'isSetUp'>;
  readonly parseRules: ParseText;
  readonly readWall: () => Instant;
  readonly readMonotonicMs: () => number;
}

/** What only a server has whose data can be read. */
export interface DoctorParts extends Pick<VersionFacts, 'version' | 'node' | 'knownSchema'> {
  readonly store: Store;
  readonly cloudLink: Pick<CloudLink, 'describe' | 'probe'>;
  readonly webhooks: Pick<Deliveries, 'describe'>;
  readonly channels: Pick<Channels, 'list'>;
  readonly syslog: Pick<Deliveries, 'describe'>;
  readonly eventsFile: Pick<Deliveries, 'describe'>;
  readonly backups: Pick<Backups, 'describe'>;
  readonly singleSignOn: Pick<SingleSignOn, 'name' | 'findFault'>;
  readonly people: Pick<DirectoryPeople, 'findFault'> | null;
  readonly findUncertified: FindUncertified;
}

type Examination = () => Promise<readonly Verdict[]> | readonly Verdict[];

/** `parts`: `null` if the data cannot be read; then only the surroundings are examined. */
export function createDoctor(readOptions: () => DoctorOptions, parts: DoctorParts | null): Doctor {
  const list = (options: DoctorOptions): Partial<Record<Check, Examination>> => ({
    ...aroundServer(options, parts?.store ?? null),
    ...(parts === null ? {} : withinServer(options, parts)),
  });
  let running: Promise<readonly Finding[]> | null = null;
  return {
    examine() {
      running ??= examineAll(list(readOptions())).finally(() => {
        running = null;
      });
      return running;
    },
  };
}

async function examineAll(examinations: Partial<Record<Check, Examination>>): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const check of CHECKS) {
    for (const verdict of (await examineOne(examinations[check])) ?? []) findings.push({ check, ...verdict });
  }
  return findings;
}

/** A failed examination is a finding as well, and does not prevent the others. */
async function examineOne(examination: Examination | undefined): Promise<readonly Verdict[] | undefined> {
  try {
    return await examination?.();
  } catch (error) {
    const text = `This could not be examined: ${(error as Error).message}`;
    return [{ severity: 'problem', text, advice: 'See the other findings and the log for the reason.' }];
  }
}

function aroundServer(options: DoctorOptions, store: Store | null) {
  const { config, isShared, readWall, readMonotonicMs } = options;
  const { data: folder, notices } = config;
  return {
    disk: async () => {
      // The folder of a server that was never started.
      if (!existsSync(folder)) return [];
      const syncsMs = isShared ? null : await measureSyncs(folder, readMonotonicMs);
      const space = await findDiskSpace(folder);
      return judgeDiskHealth({ folder, space, wantedMegabytes: notices.diskFreeMegabytes, syncsMs });
    },
    permissions: () => judgeFiles(describeFiles(options)),
    rules: async () => {
      const file = openRulesFile(config);
      const inForce = await store?.read({ kind: 'find_rules' }).catch(() => null);
      const rules = await readRules(
        file,
        await file.read(),
        inForce?.applied?.text ?? null,
        options.parseRules,
      );
      const groups = inForce && listGroupsOfDirectory(inForce.rules.set, inForce.applied?.ages ?? []);
      return judgeRules(rules instanceof RulesError ? rules.message : null, groups ?? [], readWall());
    },
    certificate: () => judgeCertificate(describeCertificate(config), readWall(), notices.certificateDays),
    exposure: async () => {
      const description = await store?.read({ kind: 'describe_store' }).catch(() => null);
      const isOneTimePasswordInUse = description?.isOneTimePasswordInUse ?? null;
      const isSetUp = (await store?.read({ kind: 'is_set_up' }).catch(() => null)) ?? null;
      return judgeExposure({ ...options.exposure, isOneTimePasswordInUse, isSetUp });
    },
  } satisfies Partial<Record<Check, Examination>>;
}

function withinServer(options: DoctorOptions, parts: DoctorParts) {
  const { config, isShared, readWall } = options;
  const { store, cloudLink, webhooks, backups, findUncertified, version, node, knownSchema } = parts;
  return {
    clock: async () => {
      const { clockAheadMs: cloudAheadMs } = await cloudLink.describe();
      const { hasTestClock } = await store.read({ kind: 'describe_store' });
      const machineAt = readWall();
      return judgeClock({ ...(await store.keepClock()), machineAt, cloudAheadMs, hasTestClock });
    },
    cloud: async () => {
      await cloudLink.probe();
      const records = await store.read({ kind: 'list_licenses', product: null });
      const licenses = records.map(({ license }) => license).filter(({ source }) => source === 'cloud');
      const { checkMinutes } = config.cloud;
      return judgeCloud({ ...(await cloudLink.describe()), licenses, checkMinutes, now: readWall() });
    },
    grants: async () => {
      const records = await store.read({ kind: 'list_licenses', product: null });
      const licenses = records.map(({ license }) => ({ license, uncertified: findUncertified(license) }));
      return judgeGrants({ licenses, doubts: await listDoubts(store) }, readWall());
    },
    database: async () => {
      const [{ engine, host }, described, file] = await Promise.all([
        store.read({ kind: 'describe_store' }),
        store.read({ kind: 'describe_engine' }),
        store.read(CHECK_FILE),
      ]);
      return judgeDatabase({
        ...described,
        ...file,
        engine,
        host,
        isHealthy: store.isHealthy(),
        isShared,
        servers: described.servers.length,
        connectionsPerServer: config.database.connections,
      });
    },
    versions: async () => {
      const { schemaVersion } = await store.read({ kind: 'describe_store' });
      const { servers } = await store.read({ kind: 'describe_engine' });
      return judgeVersions({ version, node, schemaVersion, knownSchema, servers });
    },
    backup: async () => {
      const isScheduled = config.backup.schedule !== '';
      return judgeBackup({ ...(await backups.describe()), isScheduled, now: readWall() });
    },
    webhooks: async () => judgeWebhooks(await webhooks.describe()),
    channels: async () => judgeChannels(await parts.channels.list()),
    forwarding: async () =>
      judgeForwarding({
        'syslog.url': await parts.syslog.describe(),
        'eventsFile.path': await parts.eventsFile.describe(),
      }),
    provider: async () => [
      ...judgeProvider(parts.singleSignOn.name, await parts.singleSignOn.findFault()),
      ...(parts.people === null ? [] : judgeDirectory(await parts.people.findFault())),
    ],
  } satisfies Partial<Record<Check, Examination>>;
}

/**
 * Guarded: the data folder and the master key. Secret: private keys and secrets in files. The rest steers the
 * server.
 */
function describeFiles({ config, env, keyFile }: DoctorOptions) {
  const guarded = [config.data, ...(keyFile === null ? [] : [keyFile])];
  const secret = [config.tls.key, config.webhooks.secretFile, config.backup.passphraseFile];
  const own = new Set([...guarded, ...secret]);
  return [...own.union(new Set(listSteeringFiles(config, env)))]
    .filter((path) => path !== '' && existsSync(path))
    .map((path) => {
      const open = guarded.includes(path) ? null : explainSharing([path], env, explainOpen);
      return {
        writable: open ?? (own.has(path) ? explainSharing([path], env, explainWritable) : null),
        readable: own.has(path) ? explainSharing([path], env, explainReadable) : null,
        isGuarded: guarded.includes(path) || (open !== null && !isContainer(env)),
      };
    });
}

/** From the files, which a running server may not have taken over. */
function describeCertificate({ tls, http }: Config) {
  if (tls.cert === '') return null;
  try {
    const { certificate } = loadFiles(tls);
    return {
      validUntil: instant(certificate.validToDate.getTime()),
      missingNames: http.allowedHosts.filter((name) => certificate.checkHost(name) === undefined),
      hasNames: certificate.subjectAltName !== undefined,
    };
  } catch (error) {
    if (error instanceof CertificateError) return error.message;
    throw error;
  }
}
