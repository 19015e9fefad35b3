import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import type { LicenseEvent, SystemEvent } from '../../packages/server/src/core/nouns/audit-event.ts';

const PAGE = readFileSync(new URL('../../docs/audit.md', import.meta.url), 'utf8');

type EventOf<E, K> = E extends { readonly kind: infer Kind } ? (K extends Kind ? E : never) : never;
type KeyOf<E> = E extends unknown ? keyof E : never;

/** Those that only events of this kind have. */
type FieldOf<E, K> = Exclude<KeyOf<EventOf<E, K>>, 'kind' | 'by'>;

/** The compiler wants every kind, and with each all of its fields and no others. */
type Fields<E extends { readonly kind: string }> = {
  readonly [K in E['kind']]: Readonly<Record<FieldOf<E, K>, true>>;
};

const LICENSE_EVENTS: Fields<LicenseEvent> = {
  slot_lent: { user: true, hostname: true },
  slot_denied: {
    feature: true,
    user: true,
    hostname: true,
    code: true,
    barred: true,
    barredBy: true,
    rule: true,
    repeated: true,
  },
  slot_returned: { user: true, programs: true },
  slot_expired: { user: true, endedAt: true, programs: true },
  slot_borrowed: { user: true, borrowedUntil: true },
  slot_recalled: { user: true, borrowedUntil: true, programs: true },
  borrow_restored: { feature: true, user: true, borrowedUntil: true },
  borrow_not_restored: { feature: true, user: true, borrowedUntil: true, code: true },
  all_slots_returned: { count: true },
  denials_repeated: { feature: true, user: true, code: true, repeated: true },
  consumption_added: { feature: true, user: true, count: true, total: true },
  consumption_denied: {
    ...{ feature: true, user: true, code: true, barred: true, barredBy: true, rule: true, repeated: true },
  },
  feature_lent: { feature: true, user: true },
  feature_borrowed: { feature: true, user: true, borrowedUntil: true },
  feature_returned: { feature: true, user: true },
  feature_expired: { feature: true, user: true, endedAt: true },
  all_features_returned: { count: true },
  consumption_reported: { feature: true, amount: true, reportId: true },
  report_uncertain: { feature: true, amount: true, reportId: true },
  report_withdrawn: { feature: true, amount: true, reportId: true },
  total_corrected: { feature: true, before: true, total: true },
  license_added: { product: true, slots: true },
  license_changed: { changed: true, slots: true, verdict: true },
  license_doubted: { otherId: true, stopsLending: true },
  certificate_added: { kid: true, issuedAt: true, expiresAt: true },
  license_removed: { product: true, inUse: true, replacedBy: true },
};

const SYSTEM_EVENTS: Fields<SystemEvent> = {
  server_started: { version: true, settings: true },
  server_stopped: { version: true },
  clock_jumped: { direction: true, serverAt: true, wallAt: true, followed: true },
  clock_accepted: { from: true, to: true },
  clock_reset: { from: true, to: true },
  test_clock_started: {},
  identity_changed: { before: true, hardwareId: true },
  offline_request_made: { requestId: true, request: true, product: true },
  usage_file_made: { sequence: true },
  account_created: { account: true, role: true, products: true },
  account_removed: { account: true },
  role_changed: { account: true, before: true, role: true, products: true },
  password_changed: { account: true, oneTime: true, recoveryCodesLeft: true },
  second_factor_set: { account: true },
  second_factor_removed: { account: true },
  second_factor_asked: { account: true },
  token_created: {
    tokenId: true,
    name: true,
    role: true,
    products: true,
    expiresAt: true,
    endsWithSetup: true,
  },
  token_revoked: { tokenId: true, name: true },
  signed_in: {
    ...{ account: true, confirms: true, role: true, products: true, subject: true },
    recoveryCodesLeft: true,
  },
  sign_in_failed: { account: true, confirms: true, reason: true },
  cloud_keys_set: { changed: true, apiKeyFingerprint: true, sharedKeyFingerprint: true },
  master_key_rotated: { from: true, to: true },
  grant_key_rotated: { kid: true, replaced: true },
  master_key_exported: { fingerprint: true },
  rules_changed: { revision: true, diff: true },
  group_changed: { revision: true, group: true, joined: true, left: true },
  settings_changed: { settings: true },
  webhook_secret_set: { fingerprint: true },
  channel_set: { channel: true, target: true, changed: true },
  channel_removed: { channel: true },
  bar_added: { barred: true, pattern: true, note: true },
  bar_removed: { barred: true, pattern: true },
  license_expiring: { licenseId: true, product: true, validUntil: true },
  token_expiring: { tokenId: true, name: true, expiresAt: true },
  cloud_unreachable: { failingAt: true, code: true, reason: true },
  cloud_reachable: { reason: true, failingAt: true },
  disk_space_low: { hostname: true, folder: true, freeMegabytes: true },
  disk_space_recovered: { hostname: true, folder: true, freeMegabytes: true },
  certificate_expiring: { hostname: true, fingerprint: true, validUntil: true },
  certificate_wrong: { licenseId: true, product: true, kid: true },
  certificate_missing: { licenseId: true, product: true, kid: true },
  certificate_right: { licenseId: true, product: true, kid: true, after: true },
  license_nearly_full: { licenseId: true, product: true, feature: true, inUse: true, slots: true },
  license_has_room: { licenseId: true, product: true, feature: true, inUse: true, slots: true },
  consumption_nearly_used_up: { licenseId: true, product: true, feature: true, total: true, max: true },
  consumption_has_room: { licenseId: true, product: true, feature: true, total: true, max: true },
  cloud_held_to_nonces: { fingerprint: true },
  cloud_released_from_nonces: { fingerprint: true },
  backup_made: { file: true, bytes: true, withKey: true },
  backup_failed: { reason: true },
  backup_overdue: { dueAt: true },
  groups_outdated: { groups: true, answeredAt: true, reason: true },
  groups_up_to_date: {},
  backup_restored: { madeAt: true, madeBy: true, replacedAt: true },
  heads_signed: { links: true, heads: true, digest: true, signature: true },
  audit_thinned: { before: true, thinned: true },
  user_forgotten: { records: true },
};

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The rows of a section's table: the kind of an event, and its fields. */
function readTable(title: string): [string | undefined, (string | undefined)[]][] {
  const section = PAGE.split(/^## /m).find((text) => text.startsWith(`${title}\n`)) ?? '';
  return Array.from(
    section.matchAll(/^\| `(\w+)`(?:: ([^|]*))? ?\| [^|]+ \|$/gm),
    ([, kind, fields = '']) => [kind, Array.from(fields.matchAll(/`(\w+)`/g), ([, field]) => field)],
  );
}

describe('docs/audit.md', () => {
  for (const [title, events] of [
    ['Events of a license', LICENSE_EVENTS],
    ['Events of the system', SYSTEM_EVENTS],
  ] as const) {
    test(`"${title}" lists every kind with all of its fields, and no other`, () => {
      const known = Object.entries(events).map(([kind, fields]) => [
        kind,
        Object.keys(fields).map(snakeCase),
      ]);
      assert.deepEqual(readTable(title), known);
    });
  }
});
