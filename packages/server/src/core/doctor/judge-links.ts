import { type Channel, type ChannelTarget, isLoopback } from '../notify/channel.ts';
import { HOUR_MS, type Instant, MINUTE_MS, say } from '../nouns/instant.ts';
import type { License } from '../nouns/license.ts';
import { complain, orWell, type Verdict, warn } from './finding.ts';
import { sayLength } from './judge-machine.ts';

/** The state of the link to the licensing cloud. */
export interface LinkFacts {
  /**
   * `not_configured` and `no_keys`: it cannot be used. `untried`: not used since the start. `ok`: the last
   * requests were answered. `refused`: the cloud does not accept the keys. `failing`: it cannot be reached,
   * or its answers are invalid.
   */
  readonly state: 'not_configured' | 'no_keys' | 'untried' | 'ok' | 'refused' | 'failing';
  /** The last successful request, of this run or, if the licenses have it, of an earlier one. */
  readonly reachedAt: Instant | null;
  /** Since when requests fail. */
  readonly failingAt: Instant | null;
}

interface CloudFacts extends LinkFacts {
  readonly error: { readonly message: string } | null;
  readonly pending: number;
  readonly reportsUncertain: number;
  /** Those that come from it. */
  readonly licenses: readonly Pick<License, 'id' | 'product' | 'tie'>[];
  readonly checkMinutes: number;
  readonly now: Instant;
}

export function judgeCloud(facts: CloudFacts): readonly Verdict[] {
  const { state, licenses, pending } = facts;
  if (state === 'not_configured') {
    const missing = licenses.length === 0 ? null : missingCloud(licenses.length);
    return orWell([missing], 'No licensing cloud is configured, and no license comes from one');
  }
  const backlog = pending === 0 ? '' : `; ${pending} of consumption are not reported yet`;
  const found = [...licenses.map(judgeDoubt), judgeState(facts), judgeAge(facts), judgeReports(facts)];
  return orWell(found, `The licensing cloud answers and accepts the keys${backlog}`);
}

function missingCloud(licenses: number): Verdict {
  return complain(
    `${licenses === 1 ? 'A license comes' : `${licenses} licenses come`} from a licensing cloud, and none ` +
      'is configured.',
    'Set cloud.url and cloud.publicKey, and restart the server: such licenses have to be checked there.',
  );
}

function judgeState({ state, error, failingAt }: CloudFacts): Verdict | null {
  const since = failingAt === null ? '' : ` (since ${say(failingAt)})`;
  if (state === 'no_keys') {
    return complain(
      'The keys for the licensing cloud are not set.',
      'Set them with "berth key set"; the vendor provides them.',
    );
  }
  if (state === 'refused') {
    return complain(
      `The licensing cloud refuses the keys${since}: ${error?.message}`,
      'Set the right keys with "berth key set"; ask the vendor for them.',
    );
  }
  if (state !== 'failing') return null;
  return complain(
    `The licensing cloud does not work${since}: ${error?.message}`,
    'Check cloud.url, cloud.publicKey, the network and the firewall. Licenses that need no check ' +
      'yet go on lending.',
  );
}

function judgeDoubt(license: CloudFacts['licenses'][number]): Verdict | null {
  const { doubt } = license.tie.assurance ?? {};
  if (doubt === undefined) return null;
  const effect = doubt.stopsLending ? 'It lends no new slots' : 'It will lend no new slots if that goes on';
  return complain(
    `Since ${say(doubt.since)} the licensing cloud answers for license ${doubt.otherId} when it is asked ` +
      `for ${license.id} of "${license.product}", with the same key. ${effect}.`,
    'The vendor may have restored a backup of the cloud. Add the license again by its key ("berth license ' +
      'add"): it replaces the one here and keeps its slots. Or remove the one here ("berth license remove").',
  );
}

/** Checks that are this often late did not happen. */
const LATE_CHECKS = 3;

function judgeAge({ state, reachedAt, licenses, checkMinutes, now }: CloudFacts): Verdict | null {
  if (state !== 'ok' && state !== 'untried') return null;
  if (reachedAt === null || licenses.length === 0) return null;
  const ageMs = now - reachedAt;
  if (ageMs < Math.max(HOUR_MS, LATE_CHECKS * checkMinutes * MINUTE_MS)) return null;
  return warn(
    `The licensing cloud was last reached ${sayLength(ageMs)} ago.`,
    'Start the server, or run "berth license sync".',
  );
}

function judgeReports({ reportsUncertain }: CloudFacts): Verdict | null {
  if (reportsUncertain === 0) return null;
  return warn(
    `Of ${reportsUncertain} reports it is unknown whether the licensing cloud has counted them.`,
    'See "berth report list", and settle them with "berth report settle".',
  );
}

/** Of a database that is a file. */
export interface FileVerdict {
  /** What the database says is wrong with its file; `null`: nothing was found. */
  readonly damage: string | null;
  /** Which pages are not as the server wrote them; `null`: none. */
  readonly changed: string | null;
  /** Whether the file was read. */
  readonly isRead: boolean;
}

interface DatabaseFacts extends FileVerdict {
  readonly engine: string;
  readonly isHealthy: boolean;
  readonly isShared: boolean;
  readonly settings: Readonly<Record<string, string | null>>;
  /** The host in use, with the port that was named; `null`: it is a file. */
  readonly host: string | null;
  /** The port of the database itself; `null`: unknown. */
  readonly port: number | null;
  readonly servers: number;
  readonly connectionsPerServer: number;
}

export function judgeDatabase(facts: DatabaseFacts): readonly Verdict[] {
  const { engine, isHealthy, port, host } = facts;
  const place = host === null ? '' : ` at ${host}`;
  const isBehind = port !== null && host !== null && !host.endsWith(`:${port}`);
  const pooler = isBehind ? `, behind a pooler or proxy (its own port is ${port})` : '';
  const sick = isHealthy
    ? null
    : complain(
        'The last commit failed.',
        'See the log for the reason; clients get 503 until it works again.',
      );
  const found = [sick, judgeDamage(facts), judgeDurability(facts), judgeConnections(facts)];
  return orWell(found, `${engine}${place} works${pooler}${sayRead(facts)}`);
}

function judgeDamage({ damage, changed }: DatabaseFacts): Verdict | null {
  if (damage === null && changed === null) return null;
  if (damage === null) {
    return complain(
      `The file of the database is not as the server wrote it: ${changed}. The disk has failed, or another ` +
        'program has changed it.',
      'Restore a backup: docs/backup.md shows how. If the change is right, stop the server and delete ' +
        'berth.db-sums.',
    );
  }
  return complain(
    `The file of the database is damaged. SQLite says: ${damage}.`,
    'Stop the server and restore a backup: docs/backup.md shows how.',
  );
}

function sayRead({ isShared, isRead }: DatabaseFacts): string {
  if (isShared) return '';
  return isRead ? ', and its file is intact' : '; its file is too large to read all of it now';
}

/** What the connection refuses need not be looked at: `off` for one of them. */
function judgeDurability({ settings }: DatabaseFacts): Verdict | null {
  const { synchronous_commit: level, synchronous_standby_names: standbys } = settings;
  if (!standbys || (level !== 'local' && level !== 'remote_write')) return null;
  return warn(
    `The database has a synchronous standby, but synchronous_commit is ${level}.`,
    'Set synchronous_commit = on: otherwise a failover can lose what was acknowledged.',
  );
}

/** PostgreSQL keeps some for its superusers. */
const RESERVED_CONNECTIONS = 3;

function judgeConnections(facts: DatabaseFacts): Verdict | null {
  const { isShared, settings, servers, connectionsPerServer } = facts;
  const most = Number(settings.max_connections ?? Number.NaN);
  const needed = Math.max(1, servers) * connectionsPerServer;
  if (!isShared || !(needed > most - RESERVED_CONNECTIONS)) return null;
  return warn(
    `The servers may open ${needed} connections, and the database allows ${most}.`,
    'Raise max_connections, or lower database.connections on all servers.',
  );
}

export interface VersionFacts {
  readonly version: string;
  readonly node: string;
  readonly schemaVersion: number;
  readonly knownSchema: number;
  readonly servers: readonly { readonly hostname: string; readonly version: string }[];
}

export function judgeVersions(facts: VersionFacts): readonly Verdict[] {
  const { version, node, schemaVersion, knownSchema, servers } = facts;
  const newer =
    schemaVersion <= knownSchema
      ? null
      : warn(
          `A newer Berth has upgraded the data to schema ${schemaVersion}; this one knows ${knownSchema}.`,
          'Upgrade this server, too.',
        );
  const others = servers.filter((server) => server.version !== version);
  const mixed = others.map((server) =>
    warn(
      `The server on ${server.hostname} is version ${server.version}, and this one ${version}.`,
      'Upgrade all servers to the same version.',
    ),
  );
  return orWell([newer, ...mixed], `Berth ${version}, Node ${node}, schema ${schemaVersion}`);
}

export interface DeliveryFacts {
  /** `untried`: nothing has been sent since the start. */
  readonly state: 'off' | 'no_secret' | 'untried' | 'ok' | 'failing';
  /** Since when the receiver fails. */
  readonly failingAt: Instant | null;
  readonly error: string | null;
  /** Undelivered events, counted up to a thousand; of a long log, those that are counted so far. */
  readonly waiting: number;
  /** Since the start. */
  readonly dropped: number;
}

export function judgeWebhooks(facts: DeliveryFacts): readonly Verdict[] {
  const { state, failingAt, error, waiting, dropped } = facts;
  const since = failingAt === null ? '' : ` since ${say(failingAt)}`;
  const failing =
    state !== 'failing'
      ? null
      : warn(
          `Events have not reached the webhook${since}: ${error}. Events that wait: ${waiting}.`,
          'Check webhooks.url and its receiver. Events are dropped after 24 hours.',
        );
  const unsigned =
    state === 'no_secret' ? warn('The webhook gets no events: it has no secret.', error ?? '') : null;
  const lost =
    dropped === 0
      ? null
      : warn(
          `${dropped} events were dropped since the start.`,
          'The receiver missed them: see "berth audit list".',
        );
  const tried = state === 'untried' ? 'A webhook is configured' : 'The webhook gets its events';
  return orWell([failing, unsigned, lost], state === 'off' ? 'No webhook is configured' : tried);
}

interface ChannelFacts {
  readonly channel: Pick<Channel, 'name' | 'target'>;
  readonly state: 'paused' | 'untried' | 'ok' | 'failing';
  readonly failingAt: Instant | null;
  readonly error: string | null;
}

const CORRECT = 'Correct the channel and run "berth notify test".';

/** A channel that fails is not told by itself, so this is where it shows. */
export function judgeChannels(channels: readonly ChannelFacts[]): readonly Verdict[] {
  const readable = channels.map(({ channel: { name, target } }) =>
    isReadable(target)
      ? warn(
          `Messages to the channel "${name}" can be read on the network.`,
          'Use an address with https://, or a mail server with TLS.',
        )
      : null,
  );
  const found = channels.map(({ channel: { name }, state, failingAt, error }) => {
    if (state === 'paused') {
      return warn(`The channel "${name}" is paused.`, 'Run "berth notify resume" to send messages again.');
    }
    if (state === 'ok' && error !== null) {
      return warn(`The last message to the channel "${name}" did not reach everyone: ${error}.`, CORRECT);
    }
    if (state !== 'failing') return null;
    const since = failingAt === null ? '' : ` since ${say(failingAt)}`;
    return warn(
      `Messages have not reached the channel "${name}"${since}: ${error}.`,
      `${CORRECT} What could not be told is told later, in one message.`,
    );
  });
  const names = channels.map(({ channel: { name } }) => `"${name}"`).join(', ');
  return orWell(
    [...found, ...readable],
    names === '' ? 'Administrators get no messages' : `Administrators get messages by ${names}`,
  );
}

function isReadable(target: ChannelTarget): boolean {
  if (target.kind === 'mail') return target.security === 'none' && !isLoopback(target.host);
  const { protocol, hostname } = new URL(target.url);
  return protocol === 'http:' && !isLoopback(hostname);
}

/** Those that are told every event: what waits for them is not lost. */
export function judgeForwarding(receivers: Readonly<Record<string, DeliveryFacts>>): readonly Verdict[] {
  const used = Object.entries(receivers).filter(([, { state }]) => state !== 'off');
  const failing = used.map(([setting, { state, failingAt, error, waiting }]) => {
    if (state !== 'failing') return null;
    const since = failingAt === null ? '' : ` since ${say(failingAt)}`;
    return warn(
      `Events have not reached "${setting}"${since}: ${error}. Events that wait: ${waiting}.`,
      `Check "${setting}" and what is behind it. Events wait unless the audit log is thinned out meanwhile.`,
    );
  });
  const well = used
    .map(
      ([setting, { state }]) => `"${setting}" ${state === 'untried' ? 'is configured' : 'gets every event'}`,
    )
    .join(', ');
  return orWell(failing, well === '' ? 'Events are forwarded nowhere' : well);
}

/** `fault`: what is wrong with the provider that people sign in with. */
export function judgeProvider(name: string | null, fault: string | null): readonly Verdict[] {
  const away = `Nobody can sign in with the provider. ${fault}`;
  const advice = 'Check auth.oidc.issuer and the network. Accounts of this server can sign in meanwhile.';
  const well = name === null ? 'Only accounts of this server sign in' : `The provider ${name} answers`;
  return orWell([fault === null ? null : warn(away, advice)], well);
}

/** The same for the directory that checks names and passwords. */
export function judgeDirectory(fault: string | null): readonly Verdict[] {
  const away = `Nobody from the directory can sign in. ${fault}`;
  const advice = 'Check auth.ldap.url and the network. Accounts of this server can sign in meanwhile.';
  return orWell([fault === null ? null : warn(away, advice)], 'The directory answers');
}
