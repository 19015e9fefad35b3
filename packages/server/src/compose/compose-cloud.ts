import type { KeyObject } from 'node:crypto';
import { hostname, networkInterfaces, release, type } from 'node:os';
import { fingerprintKey } from '@berth/protocol/cloud/vendor-signature';
import { createCloudChecks, createCloudReports, createKeyWatch } from '../background/cloud-loops.ts';
import { openCloud, readAirgapKey, readVendorKeys } from '../cloud/open-cloud.ts';
import { findOwnAddress } from '../cloud/own-address.ts';
import type { Config } from '../config.ts';
import { MINUTE_MS, SECOND_MS } from '../core/nouns/instant.ts';
import { presentTerms } from '../http/reply/present-grant.ts';
import { type CloudLink, createCloudLink } from '../services/cloud/cloud-link.ts';
import { createCloudSession } from '../services/cloud/cloud-session.ts';
import { type Credentials, createCredentials } from '../services/cloud/credentials.ts';
import { LinkState } from '../services/cloud/link-state.ts';
import { createNonceRequirement } from '../services/cloud/nonce-requirement.ts';
import { createCertificateDoubts } from '../services/grants/certificate-doubts.ts';
import { type Certification, createCertification } from '../services/grants/certification.ts';
import { createCoverage } from '../services/grants/coverage.ts';
import { createGrantKeyAdmin } from '../services/grants/grant-key-admin.ts';
import { createGrantKeys, type GrantKeys } from '../services/grants/grant-keys.ts';
import { createGrants } from '../services/grants/grants.ts';
import { createIdentity, type Identity } from '../services/identity/identity.ts';
import { createOffline, type Offline } from '../services/offline/offline.ts';
import type { LiveSettings } from '../services/settings/live-settings.ts';
import { readMachineId } from '../store/machine-id.ts';
import type { Store } from '../store/store.ts';
import { describeLink } from '../telemetry/link-notices.ts';
import type { Log } from '../telemetry/log.ts';
import type { Loops } from './compose-loops.ts';
import { isShared } from './compose-store.ts';
import type { ServerEnvironment } from './serve-options.ts';

/** Everything about the vendor's licensing cloud. */
export interface CloudParts {
  readonly cloudLink: CloudLink;
  readonly credentials: Credentials;
  readonly identity: Identity;
  readonly offline: Offline;
  /** Signs grants; the cloud certifies its keys. */
  readonly grantKeys: GrantKeys;
  readonly certification: Certification;
  /** The keys with which the vendor signs; none if not set. */
  readonly findVendorKeys: () => Promise<readonly KeyObject[]>;
  /** Called when the keys have changed. */
  readonly listeners: Set<() => void>;
  /** Called when the cloud should be asked for certificates. */
  readonly renewals: Set<() => void>;
  close(): Promise<void>;
}

interface CloudOptions {
  readonly config: Config;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `false` for commands that open the data of a stopped server. */
  readonly isServing: boolean;
  readonly environment: ServerEnvironment;
  readonly settings: LiveSettings;
}

export function composeCloud(store: Store, options: CloudOptions, log: Log): CloudParts {
  const { config, env, isServing, environment, settings } = options;
  const { readWall, readMonotonicMs } = environment.clock;
  const { url, timeoutSeconds } = config.cloud;
  const cutOff = new AbortController();
  const state = new LinkState(readWall, (link) => describeLink(log, link));
  const onClock = (aheadMs: number) => state.noteClock(aheadMs);
  const cloud = environment.cloud ?? openCloud(config.cloud, { readWall, signal: cutOff.signal, onClock });
  const listeners = new Set<() => void>([() => state.forget()]);
  const onKeysChanged = () => {
    for (const listener of listeners) listener();
  };
  const credentials = createCredentials(store, { onKeysChanged });
  const machineId = readMachineId(env);
  const identity = createIdentity(store, {
    hardwareId: config.hardwareId || null,
    machineId,
    isShared: isShared(config),
  });
  const host = {
    hostname: hostname(),
    osVersion: `${type()} ${release()}`,
    version: environment.version,
    // Looked up for each activation: a machine may get its address after the server started.
    get ip() {
      return findOwnAddress(config.host, networkInterfaces());
    },
  };
  const { readKeys } = credentials;
  const grantKeys = createGrantKeys(store, readMonotonicMs);
  const certification = createCertification(store, grantKeys, createCertificateDoubts(store, log));
  // A running server has recorded its machine.
  const requireHome = isServing ? async () => {} : identity.requireHome;
  const hold = createNonceRequirement(store, readVendorKeys(config.cloud).map(fingerprintKey));
  const { findVendorKeys, findAirgapKey } = openVendorKeys(config, settings);
  const cloudLink = createCloudLink({
    store,
    session: createCloudSession({ cloud, readKeys, state, hold, requireHome }),
    hold,
    identity,
    state,
    host,
    certification,
    url: url === '' ? null : url,
    // A request that was given up may still arrive.
    settleMs: 2 * timeoutSeconds * SECOND_MS,
    readMonotonicMs,
  });
  const offline = createOffline({
    store,
    identity: {
      ...identity,
      readHardwareId: async () => {
        await requireHome();
        return identity.readHardwareId();
      },
    },
    readKeys,
    host,
    grantKeys,
    findVendorKeys,
    findAirgapKey,
    acceptUnsignedPolicies: config.airgap.acceptUnsignedPolicies,
    certification,
  });
  const renewals = new Set<() => void>();
  const close = async () => cutOff.abort();
  const own = { grantKeys, certification, findVendorKeys };
  return { cloudLink, credentials, identity, offline, ...own, listeners, renewals, close };
}

/** A wrong key in the configuration prevents a start. */
function openVendorKeys(config: Config, settings: LiveSettings) {
  readVendorKeys(config.cloud);
  readAirgapKey(config.airgap);
  // Asked for rarely, and right after they were set on another server of the same database.
  const current = async () => {
    await settings.refresh();
    return settings.current;
  };
  return {
    findVendorKeys: async () => readVendorKeys((await current()).cloud),
    findAirgapKey: async () => readAirgapKey((await current()).airgap),
  };
}

/** Without a cloud there is nothing to do. New keys are tried at once, on whichever server they were set. */
export function createCloudLoops(
  { cloudLink, credentials, listeners, renewals }: CloudParts,
  config: Config,
  log: Log,
): Loops {
  const { cloud: settings } = config;
  if (settings.url === '') return { always: [], leading: [] };
  const checks = createCloudChecks(cloudLink, log, settings.checkMinutes * MINUTE_MS);
  const reports = createCloudReports(cloudLink, log, settings.reportSeconds * SECOND_MS);
  listeners.add(checks.wake);
  renewals.add(checks.wake);
  return { always: isShared(config) ? [createKeyWatch(credentials, log)] : [], leading: [checks, reports] };
}

export const findUncertified = createCoverage(presentTerms);

/** What signs grants, and what administers its keys. */
export function composeGrants(store: Store, parts: CloudParts) {
  const { identity, grantKeys: keys, certification, findVendorKeys, renewals } = parts;
  const onRotated = () => {
    for (const renew of renewals) renew();
  };
  return {
    grants: createGrants(keys, identity),
    grantKeyAdmin: createGrantKeyAdmin({
      ...{ store, keys, identity, certification, findVendorKeys, findUncertified, onRotated },
    }),
  };
}
