import type { Device, HostFacts, License } from './license.ts';
import type { Refusal } from './refusal.ts';
import type { Feature } from './terms.ts';

/** The code under which what was counted of the license itself stands beside its features. */
export const WHOLE_LICENSE = '';

/** What was counted in the window that holds now, by feature. */
export type Totals = ReadonlyMap<string, number>;

/** The facts that a decision may look at. */
export interface View {
  readonly license: License;
  /** The device that asks, if the license is activated on it. */
  readonly device: Device | null;
  readonly deviceCount: number;
  /** The id that a device gets which this command adds. */
  readonly nextDeviceId: number;
  /** The vendor has barred the machine. */
  readonly isBlocked: boolean;
  readonly totals: Totals;
  /** What was counted before under the report id of the command. */
  readonly report: Report | null;
}

/** An amount that was counted under an id, once and for ever. */
export interface Report {
  readonly id: string;
  readonly feature: string;
  readonly amount: number;
}

export type Outcome = Licensed | Deactivated | Counted | Refusal;

/** The license is activated on this machine. */
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
  /** In this window, with what was just counted. */
  readonly total: number;
}

/** What the store writes, in this order, in the same commit as the events. */
export type Change =
  | { readonly kind: 'add_device'; readonly hardwareId: string; readonly host: HostFacts }
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
  | 'server_key_approved'
  | 'usage_taken'
  | 'airgap_started'
  | 'airgap_confirmed';

/** What happened, as it is kept. Facts have the names of the wire; secrets are never among them. */
export interface CloudEvent {
  readonly kind: EventKind;
  readonly facts: Readonly<Record<string, unknown>>;
}

export interface Decision {
  readonly outcome: Outcome;
  readonly changes: readonly Change[];
  readonly events: readonly CloudEvent[];
}

/** Nothing is written. */
export function justAnswer(outcome: Outcome): Decision {
  return { outcome, changes: [], events: [] };
}
