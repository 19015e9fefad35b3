import type { Device, HostFacts, License } from './license.ts';
import type { Refusal } from './refusal.ts';
import type { Feature } from './terms.ts';

/** The key for the consumption of the license itself, next to its features. */
export const WHOLE_LICENSE = '';

/** The consumption in the current window, by feature. */
export type Totals = ReadonlyMap<string, number>;

/** The facts a decision may use. */
export interface View {
  readonly license: License;
  /** The requesting device, if the license is activated on it. */
  readonly device: Device | null;
  readonly deviceCount: number;
  /** The id for a device that this command adds. */
  readonly nextDeviceId: number;
  /** The vendor has blocked the machine. */
  readonly isBlocked: boolean;
  readonly totals: Totals;
  /** What was counted before under the command's report id. */
  readonly report: Report | null;
}

/** A counted report. Each id counts only once, forever. */
export interface Report {
  readonly id: string;
  readonly feature: string;
  readonly amount: number;
}

export type Outcome = Licensed | Deactivated | Counted | Refusal;

export interface Licensed {
  readonly kind: 'licensed';
  readonly license: License;
  readonly hardwareId: string;
  readonly deviceId: number;
  readonly deviceCount: number;
  readonly totals: Totals;
}

interface Deactivated {
  readonly kind: 'deactivated';
}

export interface Counted {
  readonly kind: 'counted';
  readonly license: License;
  /** `null`: the license itself. */
  readonly feature: Feature | null;
  /** The total in this window, including this report. */
  readonly total: number;
}

/** What the store writes, in this order, in the same transaction as the events. */
export type Change =
  | {
      readonly kind: 'add_device';
      readonly id: number;
      readonly hardwareId: string;
      readonly host: HostFacts;
    }
  | { readonly kind: 'refresh_device'; readonly hardwareId: string; readonly host: HostFacts }
  | { readonly kind: 'see_device'; readonly hardwareId: string }
  | { readonly kind: 'remove_device'; readonly hardwareId: string }
  | { readonly kind: 'set_active' }
  | { readonly kind: 'set_transfer_count'; readonly transferCount: number }
  | { readonly kind: 'put_total'; readonly feature: string; readonly total: number }
  | { readonly kind: 'add_report'; readonly report: Report };

export type EventKind =
  | 'key_created'
  | 'key_disabled'
  | 'signing_key_added'
  | 'signing_key_switched'
  | 'signing_key_retired'
  | 'product_created'
  | 'license_created'
  | 'license_changed'
  | 'license_enabled'
  | 'license_disabled'
  | 'license_reset'
  | 'device_activated'
  | 'device_refreshed'
  | 'device_deactivated'
  | 'device_blocked'
  | 'device_unblocked'
  | 'consumption_added'
  | 'request_answered'
  | 'license_file_issued'
  | 'server_key_learned'
  | 'server_key_waits'
  | 'certificate_issued'
  | 'certificate_refused'
  | 'server_key_approved'
  | 'usage_taken'
  | 'airgap_started'
  | 'airgap_confirmed'
  | 'backup_restored';

/** A stored event. Facts use the names of the API and never contain secrets. */
export interface CloudEvent {
  readonly kind: EventKind;
  readonly facts: Readonly<Record<string, unknown>>;
}

export interface Decision {
  readonly outcome: Outcome;
  readonly changes: readonly Change[];
  readonly events: readonly CloudEvent[];
}

/** A decision that writes nothing. */
export function justAnswer(outcome: Outcome): Decision {
  return { outcome, changes: [], events: [] };
}
