import { networkInterfaces } from 'node:os';
import { isPlainAndFar } from '../cloud/open-cloud.ts';
import { isPublicAddress } from '../cloud/own-address.ts';
import type { Config } from '../config.ts';
import type { Finding } from '../core/doctor/finding.ts';
import { isLoopbackHost } from '../http/access/local-caller.ts';
import {
  createDoctor,
  type Doctor,
  type DoctorOptions,
  type DoctorParts,
} from '../services/doctor/doctor.ts';
import { parseBy } from '../services/rules/rule-tasks.ts';
import type { CurrentSettings } from '../services/settings/live-settings.ts';
import { type RunTask, runTaskHere } from '../services/tasks/task.ts';
import { type Clock, systemClock } from '../store/clock.ts';
import { MIGRATIONS } from '../store/engine/migrations.ts';
import { findUncertified } from './compose-cloud.ts';
import { findMasterKey, isShared, type StoreOptions } from './compose-store.ts';

type Place = Pick<StoreOptions, 'config' | 'env'>;

/** Examines a server whose data can be read. */
export function composeDoctor(
  { settings, env, runTask }: Pick<Place, 'env'> & { settings: CurrentSettings; runTask: RunTask },
  clock: Clock,
  parts: Omit<DoctorParts, 'node' | 'knownSchema' | 'findUncertified'>,
): Doctor {
  const known = { node: process.versions.node, knownSchema: MIGRATIONS.length, findUncertified };
  const describe = () => describePlace({ config: settings.current, env }, clock, runTask);
  return createDoctor(describe, { ...parts, ...known });
}

/** Examines the surroundings of a server that does not run and whose data cannot be read. */
export function examineSurroundings(place: Place): Promise<readonly Finding[]> {
  return createDoctor(() => describePlace(place, systemClock, runTaskHere), null).examine();
}

function describePlace(
  { config, env }: Place,
  { readWall, readMonotonicMs }: Clock,
  runTask: RunTask,
): DoctorOptions {
  const hasDirectory = config.auth.ldap.url !== '';
  const key = findMasterKey({ config, env });
  return {
    config,
    env,
    keyFile: key.value === null ? key.file : null,
    isShared: isShared(config),
    exposure: describeExposure(config),
    parseRules: (text) => parseBy(runTask, { text, products: null, hasDirectory }),
    readWall,
    readMonotonicMs,
  };
}

function describeExposure(config: Config): DoctorOptions['exposure'] {
  const { host, http, tls, cloud, webhooks, syslog } = config;
  const { clients, localAdmin, ldap } = config.auth;
  const isLoopback = isLoopbackHost(host);
  const directory = ldap.startTls ? {} : { 'auth.ldap.url': ldap };
  const all = { 'cloud.url': cloud, 'webhooks.url': webhooks, 'syslog.url': syslog, ...directory };
  return {
    host,
    isLoopback,
    isPublic: !isLoopback && isPublicAddress(host, networkInterfaces()),
    hasTls: tls.cert !== '',
    hasProxies: http.trustedProxies.length > 0,
    clients,
    localAdmin,
    plainUrls: Object.entries(all).flatMap(([path, settings]) => (isPlainAndFar(settings) ? [path] : [])),
  };
}
