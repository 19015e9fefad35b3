import { isPlainAndFar } from '../cloud/open-cloud.ts';
import type { RuleSet } from '../core/rules/rule-set.ts';
import { isLoopbackHost } from '../http/access/local-caller.ts';
import type { Log } from '../telemetry/log.ts';
import { findShared, type StoreOptions } from './compose-store.ts';

/** Warns about what others on the machine or the network can read or take. */
export function warnAboutExposure(
  options: Pick<StoreOptions, 'config' | 'env'>,
  rules: RuleSet,
  log: Log,
): void {
  const { host, cloud, tls, http } = options.config;
  for (const warning of findShared(options)) log.warn(warning);
  if (isPlainAndFar(cloud)) {
    log.warn('cloud.url is http: license keys and consumption can be read on the network');
  }
  if (isLoopbackHost(host)) return;
  if (tls.cert === '') {
    log.warn({ host }, 'listening on the network without TLS: anyone on it can read requests and take slots');
  }
  if (!limitsAddresses(rules)) {
    log.warn({ host }, 'one client can take every slot: limit the slots of each address in the rules');
  }
  if (http.clientRequestsPerMinute > 0) return;
  log.warn(
    { host },
    'one client can send as many requests as the server can answer: set http.clientRequestsPerMinute',
  );
}

/** Whether an address gets only so many slots of some product. */
function limitsAddresses({ products }: RuleSet): boolean {
  return Object.values(products).some(({ limit }) =>
    limit.some(({ of }) => 'each' in of && of.each === 'address'),
  );
}
