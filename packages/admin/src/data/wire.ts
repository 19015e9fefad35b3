import type { FeatureObject, LicenseObject } from '@berth/protocol/api/license-object';

/** What the admin API sends, as far as the page reads it. */

export type Role = 'admin' | 'operator' | 'user';

export interface Welcome {
  readonly name: string;
  readonly has_logo: boolean;
  readonly version: string;
  readonly is_set_up: boolean;
  readonly is_secure: boolean;
}

export interface Session {
  readonly name: string;
  readonly role: Role;
  readonly csrf_token: string | null;
  readonly must_set_password: boolean;
  readonly is_secure: boolean;
}

export type Feature = FeatureObject;

export interface License extends LicenseObject {
  readonly source: 'cloud' | 'offline' | 'airgap' | 'demo';
  readonly state: string;
  readonly ends_at: string | null;
  readonly borrowed: number;
  readonly added_at: string;
  readonly checked_at: string | null;
  readonly moved_at: string | null;
  readonly cloud_answers_bound?: boolean;
  readonly unconfirmed_verdict?: string | null;
}

export interface Slot {
  readonly license_id: number;
  readonly product: string;
  readonly user: string;
  readonly os_hostname: string | null;
  readonly ip_local: string | null;
  readonly user_info: string | null;
  readonly address: string | null;
  readonly registered_at: string;
  readonly ends_at: string;
  readonly is_borrowed: boolean;
  readonly borrowed_until: string | null;
  readonly features: readonly string[];
}

export interface SlotPage {
  readonly matched: number;
  readonly registrations: readonly Slot[];
}

interface LinkError {
  readonly code: string;
  readonly message: string;
}

export interface Status {
  readonly version: string;
  readonly url: string | null;
  readonly uptime_seconds: number;
  readonly data: string;
  readonly database: string | null;
  readonly leader: boolean;
  readonly hardware_id: string;
  readonly identity_key: string;
  readonly tls: {
    readonly subject: string;
    readonly valid_until: string;
    readonly fingerprint256: string;
  } | null;
  readonly cloud_keys: {
    readonly api_key_fingerprint: string | null;
    readonly shared_key_fingerprint: string | null;
  };
  readonly master_key: {
    readonly fingerprint: string;
    readonly source: string;
    readonly file: string | null;
  };
  readonly cloud: {
    readonly state: 'not_configured' | 'no_keys' | 'untried' | 'ok' | 'refused' | 'failing';
    readonly url?: string | null;
    readonly reached_at: string | null;
    readonly failing_at: string | null;
    readonly error: LinkError | null;
    readonly pending: number;
    readonly reports_uncertain: number;
  };
  readonly webhooks: {
    readonly state: 'off' | 'untried' | 'ok' | 'failing';
    readonly delivered_at: string | null;
    readonly failing_at: string | null;
    readonly error: string | null;
    readonly waiting: number;
    readonly delivered: number;
    readonly dropped: number;
  };
  readonly backup: Backup;
  readonly clock: Clock | null;
}

interface Backup {
  readonly last_at: string | null;
  readonly last_file: string | null;
  readonly due_at: string | null;
  readonly failing_at: string | null;
  readonly error: string | null;
}

interface Clock {
  readonly server_at: string;
  readonly wall_at: string;
  readonly ahead_ms: number;
  readonly jump: { readonly direction: 'ahead' | 'behind'; readonly gap_ms: number } | null;
}

export interface Finding {
  readonly check: string;
  readonly severity: 'ok' | 'warning' | 'problem';
  readonly text: string;
  readonly advice: string | null;
}

/** An event; its other fields depend on its kind. */
export interface AuditEvent {
  readonly seq: number;
  readonly at: string;
  readonly kind: string;
  readonly license_id: number | null;
  readonly user?: string | null;
  readonly by?: string | null;
  readonly origin?: string;
  readonly [fact: string]: unknown;
}

export interface Account {
  readonly name: string;
  readonly role: Role;
  readonly one_time_password: boolean;
  readonly one_time_until: string | null;
  readonly created_at: string;
}

export interface Token {
  readonly id: string;
  readonly kind: 'auth' | 'session' | 'api';
  readonly account: string | null;
  readonly name: string | null;
  readonly role: Role;
  readonly issued_at: string;
  readonly used_at: string | null;
  readonly expires_at: string | null;
  readonly is_alive: boolean;
}

/** History, from `/api/admin/history/…`. */
export interface SlotHistory {
  readonly since: string;
  readonly until: string;
  readonly grain: 'minute' | 'hour' | 'day';
  readonly step_ms: number;
  readonly series: readonly SlotSeries[];
}

export interface SlotSeries {
  readonly license_id: number;
  readonly product: string;
  readonly name: string;
  readonly feature: string | null;
  readonly slots: number;
  readonly points: readonly SlotPoint[];
}

export interface SlotPoint {
  readonly at: string;
  readonly in_use: number;
  readonly average: number;
  readonly peak: number;
  readonly borrowed: number;
  readonly grants: number;
  readonly returns: number;
  readonly denials: number;
}

export interface Denials {
  readonly total: number;
  readonly by_reason: readonly { readonly reason: string; readonly count: number }[];
  readonly by_license: readonly {
    readonly license_id: number;
    readonly product: string;
    readonly name?: string;
    readonly count: number;
  }[];
  /** Those who were denied most often. */
  readonly by_user: readonly (Somebody & { readonly count: number })[];
  readonly denials: readonly Denial[];
  readonly left_off?: number;
}

/** A user; `null` if none was named, and for all whom the history does not name. */
interface Somebody {
  readonly user: string | null;
  readonly others: boolean;
}

export interface Denial extends Somebody {
  readonly first_at: string;
  readonly last_at: string;
  readonly license_id: number;
  readonly product: string;
  readonly name: string;
  readonly feature: string | null;
  readonly reason: string;
  readonly host: string | null;
  readonly address: string | null;
  readonly count: number;
  readonly explanation: string;
}

export interface ConsumptionHistory {
  readonly days: readonly {
    readonly day: string;
    readonly license_id: number;
    readonly product: string;
    readonly name: string;
    readonly feature: string | null;
    readonly amount: number;
  }[];
}

export interface WhatIf {
  readonly license_id: number;
  readonly slots: number;
  readonly median_ms: number | null;
  readonly asked: number;
  readonly curve: readonly {
    readonly slots: number;
    readonly denials: number;
    readonly waiting_ms: number;
  }[];
}

export interface UserHistory {
  readonly users: readonly (Somebody & {
    readonly license_id: number;
    readonly product: string;
    readonly name: string;
    readonly grants: number;
    readonly denials: number;
    readonly held_ms: number;
    readonly last_at: string;
    readonly feature: string | null;
  })[];
  readonly left_off?: number;
}
