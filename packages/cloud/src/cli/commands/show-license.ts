import { formatFacts, formatTable, paint, type Style } from '@berth/shell/console/console-text';
import type { presentLicenseFacts } from './present.ts';

export type LicenseFacts = ReturnType<typeof presentLicenseFacts>;
type Device = LicenseFacts['devices'][number];

export function showLicenses({ licenses }: { licenses: readonly LicenseFacts[] }): string {
  if (licenses.length === 0) return 'No licenses.';
  const rows = licenses.map((one) => [
    one.license_key,
    one.product,
    sayState(one.state),
    one.slots,
    sayOf(one.activations, one.max_activations),
    sayConsumption(one),
    one.valid_until ?? 'forever',
    one.customer ?? one.company ?? one.user,
  ]);
  const heading = [
    'license key',
    'product',
    'state',
    'slots',
    'activations',
    'consumption',
    'valid until',
    'for',
  ];
  return formatTable(heading, rows);
}

const STATE_STYLES: Readonly<Record<string, Style>> = {
  active: 'green',
  'in grace': 'yellow',
  disabled: 'red',
  expired: 'red',
};

function sayState(state: string): string {
  const style = STATE_STYLES[state];
  return style === undefined ? state : paint(style, state);
}

function sayOf(used: number, most: number | null): string {
  return most === null ? `${used} of any number` : `${used} of ${most}`;
}

export function showLicense(license: LicenseFacts): string {
  const { features, devices, activations, max_activations, ...rest } = license;
  const facts = {
    ...labelled({ ...rest, state: sayState(rest.state), valid_until: rest.valid_until ?? 'forever' }),
    activations: sayOf(activations, max_activations),
    ...('total_consumptions' in license ? { consumption: sayConsumption(license) } : {}),
  };
  return [formatFacts(facts), ...showFeatures(features), ...showDeviceTable(devices)].join('\n\n');
}

/** Omits missing values and those shown elsewhere. */
const SHOWN_ELSEWHERE = new Set([
  'total_consumptions',
  'max_consumptions',
  'max_overages',
  'allow_negative_consumptions',
  'consumption_period',
]);

function labelled(facts: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const shown = Object.entries(facts).filter(([name, value]) => value !== null && !SHOWN_ELSEWHERE.has(name));
  return Object.fromEntries(shown.map(([name, value]) => [name.replaceAll('_', ' '), value]));
}

interface Counts {
  readonly total_consumptions?: number;
  readonly max_consumptions?: number | null;
  readonly max_overages?: number;
  readonly allow_negative_consumptions?: boolean;
  readonly consumption_period?: string | null;
}

function sayConsumption(counts: Counts): string {
  const { total_consumptions: total, max_consumptions: max, max_overages: overages = 0 } = counts;
  if (total === undefined) return '-';
  return [
    sayOf(total, max ?? null),
    overages === 0 ? '' : ` and ${overages} beyond`,
    counts.consumption_period === null ? '' : `, ${counts.consumption_period}`,
    counts.allow_negative_consumptions ? ', can be taken back' : '',
  ].join('');
}

function showFeatures(features: LicenseFacts['features']): readonly string[] {
  if (features.length === 0) return [];
  const rows = features.map((feature) => [
    feature.code,
    feature.type,
    feature.slots,
    feature.timeout_minutes,
    sayConsumption(feature as Counts),
    feature.expires_at,
  ]);
  return [formatTable(['feature', 'type', 'slots', 'timeout minutes', 'consumption', 'expires at'], rows)];
}

/** `isOfAll`: of several licenses, so each device has its license. */
function showDeviceTable(devices: readonly Device[], isOfAll = false): readonly string[] {
  if (devices.length === 0) return [];
  const rows = devices.map((one) => [
    one.hardware_id,
    ...(isOfAll ? [one.license_key] : []),
    one.hostname,
    one.ip,
    one.activated_at,
    one.seen_at,
    one.blocked,
    one.certified_until,
  ]);
  const heading = ['host', 'ip', 'activated at', 'seen at', 'blocked', 'certified until'];
  return [formatTable(['device', ...(isOfAll ? ['license'] : []), ...heading], rows)];
}

export function showDevices({ devices }: { devices: readonly Device[] }): string {
  return showDeviceTable(devices, true)[0] ?? 'No devices.';
}
