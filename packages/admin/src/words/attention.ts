import type { Finding } from '@berth/protocol/admin/doctor';
import type { License } from '@berth/protocol/admin/licenses';
import type { Status } from '@berth/protocol/admin/status';
import { byPain, judgeLicense, type Level, nameOf, rank, type Verdict } from './judge-license.ts';
import { countWord, formatNumber } from './numbers.ts';
import { formatMoment, localizeTimes, plural } from './time.ts';

/** A problem for the administrator: one for each license and each part of the server. */
export interface Concern {
  readonly level: Level;
  readonly word: string;
  /** The name of the license, or null for the server. */
  readonly name: string | null;
  readonly sentence: string;
  /** How many requests it has refused today. */
  readonly denied: number;
  readonly hurtsAt: number;
  /** To the place where it can be solved. */
  readonly link: Link;
}

interface Link {
  readonly label: string;
  readonly path: string;
  readonly params?: Readonly<Record<string, string | number>>;
}

const WORDS: Readonly<Record<string, readonly [problem: string, warning: string]>> = {
  disk: ['Disk full', 'Disk filling'],
  clock: ['Clock jumped', 'Clock'],
  cloud: ['Unreachable', 'Cloud'],
  certificate: ['Certificate', 'Certificate'],
  grants: ['Certificate', 'Certificate'],
  backup: ['Backup failed', 'Old backup'],
  database: ['Database', 'Database'],
  permissions: ['Permissions', 'Permissions'],
  exposure: ['Exposed', 'Exposed'],
  webhooks: ['Webhook', 'Webhook'],
  channels: ['Notifications', 'Notifications'],
  forwarding: ['Forwarding', 'Forwarding'],
  provider: ['Sign-in', 'Sign-in'],
  versions: ['Versions', 'Versions'],
};

/** Where the server's own problems are seen and solved; all others in its settings. */
const PLACES: Readonly<Record<string, Link>> = {
  backup: { label: 'See the backups', path: 'settings/backup' },
  cloud: { label: 'See the cloud', path: 'settings/cloud' },
  webhooks: { label: 'See the webhook', path: 'settings/notifications' },
  channels: { label: 'See the channels', path: 'settings/notifications' },
  forwarding: { label: 'See what is forwarded', path: 'settings/forwarding' },
};

const SERVER: Link = { label: 'See the server', path: 'settings/server' };

/** Everything that is red or amber anywhere: the worst first, and of those what hurts most and soonest. */
export function listConcerns(
  licenses: readonly License[],
  findings: readonly Finding[],
  now: number,
  deniedToday: ReadonlyMap<number, number> = new Map(),
): readonly Concern[] {
  const ofLicenses = licenses.flatMap((license) => concernOf(license, now, deniedToday.get(license.id) ?? 0));
  const ofServer = findings
    .filter(({ severity }) => severity !== 'ok')
    .map((finding) => concernOfServer(finding, licenses, now));
  return [...ofLicenses, ...ofServer].sort(
    (one, other) => rank(one) - rank(other) || other.denied - one.denied || byPain(one, other),
  );
}

function concernOf(license: License, now: number, denied: number): Concern[] {
  const [worst, ...others] = judgeLicense(license, now);
  if (worst === undefined) return [];
  const more = others.map(({ word }) => word.toLowerCase());
  const also = more.length === 0 ? '' : ` Also: ${more.join(', ')}.`;
  const denials = denied === 0 ? '' : ` ${plural(denied, 'denial')} today.`;
  const { level, word, sentence, hurtsAt } = worst;
  return [
    {
      ...{ level, word, hurtsAt, denied },
      name: nameOf(license),
      sentence: `${sentence}${denials}${also}`,
      link: linkOf(license, worst.remedy),
    },
  ];
}

function linkOf({ id }: License, remedy: Verdict['remedy']): Link {
  if (remedy === 'slots') return { label: 'See who holds them', path: 'slots', params: { license: id } };
  if (remedy === 'check') return { label: 'See the cloud', path: 'settings/cloud' };
  return { label: remedy === 'renew' ? 'Renew the license' : 'See the license', path: `licenses/${id}` };
}

function concernOfServer(
  { check, severity, text, advice }: Finding,
  licenses: readonly License[],
  now: number,
): Concern {
  const isProblem = severity === 'problem';
  const words = WORDS[check];
  const whole = advice === null ? text : `${text.replace(/[.]?$/, '.')} ${advice}`;
  const [, , id = ''] = text.matchAll(LICENSE_ID).next().value ?? [];
  const isOfLicense = licenses.some((license) => String(license.id) === id);
  const ofLicense = { label: 'See the license', path: `licenses/${id}` };
  const password = { label: 'Change the password', path: 'settings/password' };
  return {
    level: isProblem ? 'critical' : 'warning',
    word: text.startsWith('No backup') ? 'No backup' : (words?.[isProblem ? 0 : 1] ?? check),
    name: null,
    sentence: localizeTimes(nameLicenses(whole, licenses), now),
    denied: 0,
    hurtsAt: isProblem ? 0 : now,
    link: isOfLicense ? ofLicense : text.includes('one-time password') ? password : (PLACES[check] ?? SERVER),
  };
}

/** How findings mention a license. */
const LICENSE_ID = /\b(license) (\d+)\b/gi;

/** People know licenses by their names. */
function nameLicenses(text: string, licenses: readonly License[]): string {
  return text.replace(LICENSE_ID, (found, word: string, id: string) => {
    const license = licenses.find((one) => String(one.id) === id);
    return license === undefined ? found : `${word} “${nameOf(license)}”`;
  });
}

interface Line {
  readonly level: Level;
  readonly text: string;
}

/** What was examined and is fine, or is not used. */
export function listWell(findings: readonly Finding[], status: Status, now: number): readonly Line[] {
  const fine = new Set(findings.filter(({ severity }) => severity === 'ok').map(({ check }) => check));
  const { cloud, backup, tls } = status;
  const when = (at: string) => formatMoment(Date.parse(at), now);
  const lines: readonly (readonly [check: Finding['check'], line: Line | null])[] = [
    ['cloud', cloud.reached_at === null ? null : ok(`Cloud reached at ${when(cloud.reached_at)}`)],
    ['clock', ok('Clock is right')],
    ['disk', ok('Disk has room')],
    ['database', ok('Database works')],
    ['backup', backup.last_at === null ? off('No backup yet') : ok(`Backup from ${when(backup.last_at)}`)],
    ['certificate', tls === null ? null : ok(`Certificate good until ${when(tls.valid_until)}`)],
    ['webhooks', status.webhooks.state === 'off' ? null : ok('Webhook delivers')],
  ];
  return lines.flatMap(([check, line]) => (fine.has(check) && line !== null ? [line] : []));
}

function ok(text: string): Line {
  return { level: 'ok', text };
}

function off(text: string): Line {
  return { level: 'off', text };
}

/** The heading of the Overview: does something need me? */
export function headline(concerns: readonly Concern[], hasLicenses: boolean): string {
  const [worst] = concerns;
  if (worst === undefined) return hasLicenses ? 'All is well' : 'No license yet';
  const full = concerns.filter(({ word }) => word === 'Full').length;
  const rest = concerns.length - full;
  if (full === 0) {
    return `${countWord(rest)} ${rest === 1 ? 'thing needs' : 'things need'} attention`;
  }
  const first = `${countWord(full)} ${full === 1 ? 'license is' : 'licenses are'} full`;
  if (rest === 0) return first;
  const more = rest === 1 ? 'one more thing needs' : `${countWord(rest).toLowerCase()} more things need`;
  return `${first}, ${more} attention`;
}

/** Such as: 130 of 296 slots are in use, 23 of them borrowed. */
export function summary(licenses: readonly License[]): string {
  const sum = (read: (license: License) => number) => licenses.reduce((total, one) => total + read(one), 0);
  const slots = sum(({ floating_users }) => floating_users);
  if (slots === 0) return 'No license has slots.';
  const used = sum(({ floating_in_use }) => floating_in_use);
  const borrowed = sum((license) => license.borrowed);
  const lent = borrowed === 0 ? 'none borrowed' : `${formatNumber(borrowed)} of them borrowed`;
  return `${formatNumber(used)} of ${formatNumber(slots)} slots are in use, ${lent}.`;
}
