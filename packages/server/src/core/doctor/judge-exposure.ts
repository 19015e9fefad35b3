import { DAY_MS, type Instant, say } from '../nouns/instant.ts';
import { complain, orWell, splitAdvice, type Verdict, warn } from './finding.ts';

export interface ExposureFacts {
  readonly host: string;
  /** The server listens on loopback only. */
  readonly isLoopback: boolean;
  /** It listens on an address that the internet can reach. */
  readonly isPublic: boolean;
  readonly hasTls: boolean;
  readonly hasProxies: boolean;
  readonly clients: 'open' | 'required';
  readonly localAdmin: 'setup' | 'always' | 'never';
  /** `null`: the store could not be asked. */
  readonly isOneTimePasswordInUse: boolean | null;
  /** Local callers no longer administer the server without credentials; `null` as above. */
  readonly isSetUp: boolean | null;
  /** The settings whose URL is plain HTTP to another machine. */
  readonly plainUrls: readonly string[];
}

export function judgeExposure(facts: ExposureFacts): readonly Verdict[] {
  const { isLoopback, plainUrls } = facts;
  return orWell(
    [
      judgeTransport(facts),
      judgeClients(facts),
      judgePassword(facts),
      judgeLocalAdmin(facts),
      ...plainUrls.map((path) =>
        warn(
          `What is sent to "${path}" can be read on the network.`,
          'Use an address with https://, tls:// or ldaps://.',
        ),
      ),
    ],
    isLoopback ? 'Only this machine can reach the server' : 'The server is reachable over TLS',
  );
}

function judgeTransport({ host, isLoopback, hasTls, hasProxies }: ExposureFacts): Verdict | null {
  if (isLoopback || hasTls) return null;
  const text = `The server listens on ${host} without TLS: anyone on the network can read requests.`;
  if (!hasProxies) return complain(text, 'Set tls.cert and tls.key, or host: 127.0.0.1 behind a proxy.');
  return warn(text, 'Make sure that only the proxy can reach it, or set tls.cert and tls.key.');
}

function judgeClients({ isPublic, clients }: ExposureFacts): Verdict | null {
  if (!isPublic || clients === 'required') return null;
  return warn(
    'The server has a public address, and anyone who reaches it can take slots.',
    'Set auth.clients: required, or let a firewall keep strangers out.',
  );
}

function judgePassword({ isOneTimePasswordInUse, isSetUp, isLoopback }: ExposureFacts): Verdict | null {
  if (isOneTimePasswordInUse !== true) return null;
  const who =
    isLoopback && isSetUp !== true
      ? 'every user of this machine can administer the server'
      : 'it may be guessed or seen';
  return warn(
    `An administrator still has the one-time password: ${who}.`,
    'Replace it with "berth user password admin".',
  );
}

function judgeLocalAdmin({ localAdmin }: ExposureFacts): Verdict | null {
  if (localAdmin !== 'always') return null;
  return warn(
    '"auth.localAdmin" is "always": every user and program of this machine can administer the server.',
    'Set auth.localAdmin: setup, or never.',
  );
}

interface CertificateFacts {
  readonly validUntil: Instant;
  /** The host names in `http.allowedHosts` that it is not for. */
  readonly missingNames: readonly string[];
  /** Whether it has a list of names; current clients look at nothing else. */
  readonly hasNames: boolean;
}

/** Warns at least this long before the end, whatever the notice is set to. */
const MIN_DAYS = 14;

/** `found`: the certificate; why its files are not usable; or `null` for plain HTTP. */
export function judgeCertificate(
  found: CertificateFacts | string | null,
  now: Instant,
  noticeDays: number,
): readonly Verdict[] {
  if (found === null) return orWell([], 'The server uses plain HTTP');
  if (typeof found === 'string') {
    const { text, advice } = splitAdvice(found);
    const what =
      advice ?? 'Correct tls.cert, tls.key and tls.clientCa; a running server keeps the previous files.';
    return [complain(text, what)];
  }
  const { validUntil, missingNames, hasNames } = found;
  return orWell(
    [
      judgeEnd(validUntil, now, noticeDays),
      hasNames ? null : warn('The certificate names no hosts.', 'Get one with subject alternative names.'),
      ...missingNames.map((name) =>
        warn(
          `The certificate is not for ${name}.`,
          'Get one for it, or remove the name from http.allowedHosts.',
        ),
      ),
    ],
    `The certificate is valid until ${say(validUntil)}`,
  );
}

function judgeEnd(validUntil: Instant, now: Instant, noticeDays: number): Verdict | null {
  const advice = 'Renew it and replace the files; the server takes them over by itself.';
  if (validUntil <= now) return complain(`The certificate expired on ${say(validUntil)}.`, advice);
  if (validUntil > now + Math.max(MIN_DAYS, noticeDays) * DAY_MS) return null;
  return warn(`The certificate expires on ${say(validUntil)}.`, advice);
}
