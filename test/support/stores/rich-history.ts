import { DAY_MS, MINUTE_MS, plus } from '../../../packages/server/src/core/nouns/instant.ts';
import { type License, licenseId } from '../../../packages/server/src/core/nouns/license.ts';
import type { ManualClock } from '../../../packages/server/src/store/clock.ts';
import type { Store } from '../../../packages/server/src/store/store.ts';
import {
  borrow,
  consume,
  denying,
  exampleFeature,
  exampleLicense,
  exampleLimits,
  limitingAddresses,
  NOW,
  register,
  registerFeature,
  release,
  setRules,
} from '../../../packages/server/test/core/examples.ts';
import { exampleChannel } from '../../../packages/server/test/core/notify/example-channel.ts';

/** Users are sorted by bytes, not by the rules of a language. */
export const ODD_USERS = ['Zoë', 'zoe', 'äda', 'Ada', 'ada', "o'brien", 'a b', '\u{1F600}', '\uFFFD', '_'];

const BY = { name: 'root', address: '10.0.0.9' };

const LICENSES: readonly License[] = [
  { source: 'cloud' as const, consumption: exampleLimits({ max: 500, period: 'daily' as const }) },
  { source: 'offline' as const, consumption: exampleLimits({ max: 500, period: 'monthly' as const }) },
  { source: 'airgap' as const, consumption: exampleLimits({ max: 500 }) },
  { source: 'cloud' as const, features: [exampleFeature('render'), exampleFeature('export')] },
].map((facts, index) =>
  exampleLicense({
    ...facts,
    id: licenseId(11 - 3 * index),
    product: index === 3 ? 'cad' : `p${index}`,
    slots: 20,
  }),
);

/** What a history seldom leaves behind, as SQL for the file. */
export const SELDOM = `
  INSERT INTO place_denial VALUES (2, '192.0.2.7', 'blacklisted', 5, 1, 2);
  UPDATE registration SET origin = '4c0000207', credential = 'account ada';
  INSERT INTO notice VALUES ('license_expiring', '2', 5);
  INSERT INTO offline_request VALUES ('r', '{}', NULL, NULL, 5, NULL), ('s', '{}', 'cad', 'K', 5, 11);
  UPDATE server SET usage_sequence = 3`;

/** Fills an empty store with every kind of data. */
export async function writeRichHistory(store: Store, clock: ManualClock): Promise<void> {
  await writeAccounts(store, clock);
  for (const license of LICENSES) {
    await store.execute({ kind: 'install_license', license, by: BY });
    clock.advance(MINUTE_MS);
  }
  await store.execute({ kind: 'sign_heads' });
  await lend(store, clock);
  await store.execute({ kind: 'thin_audit', before: plus(NOW, 4 * MINUTE_MS), chain: null, by: BY });
  await count(store, clock);
  await lendForLong(store, clock);
  await store.execute({ kind: 'hand_on', product: 'cad' });
  await removeLicenses(store);
  await store.execute({ kind: 'sign_heads' });
  await store.execute({ kind: 'set_cursor', follower: 'webhook', position: { seq: 7, index: 2 } });
  await store.execute({ kind: 'rotate_grant_key', kid: 'k1', privateKey: 'p1', by: BY });
  const notice = { kind: 'cloud_held_to_nonces', fingerprint: 'a-cloud' } as const;
  await store.execute({ kind: 'note', notice });
  await store.execute(register('counted', { licenseId: licenseId(2), by: BY }));
}

/** Removes a license with a report in transit, one with pending consumption, and one that was never used. */
async function removeLicenses(store: Store): Promise<void> {
  for (const id of [20, 21].map(licenseId)) {
    const license = exampleLicense({ id, product: `p${id}`, source: 'offline' });
    await store.execute({ kind: 'install_license', license, by: BY });
  }
  await store.execute(consume(4, { licenseId: licenseId(20) }));
  await store.execute(consume(0, { licenseId: licenseId(21) }));
  for (const id of [8, 20, 21].map(licenseId)) {
    await store.execute({ kind: 'remove_license', licenseId: id, by: BY });
  }
}

async function writeAccounts(store: Store, clock: ManualClock): Promise<void> {
  const account = { kind: 'create_account', role: 'admin', passwordHash: 'h', by: BY } as const;
  for (const name of ['ada', 'Zoë', 'Bob']) {
    clock.advance(1000);
    await store.execute({ ...account, name, oneTime: name === 'Bob' });
    const signIn = { kind: 'sign_in', account: name, address: '::1', checkedHash: 'h' } as const;
    for (const nth of [1, 2]) await store.execute({ ...signIn, tokenHash: `${name} ${nth}` });
  }
  const factor = { secret: 's', usedStep: 7, recoveryCodes: ['r1', 'r2'], checkedHash: 'h' } as const;
  const owner = { account: 'Zoë', keptToken: 'Zoë 1', by: BY } as const;
  await store.execute({ kind: 'set_second_factor', ...factor, ...owner });
  const token = { kind: 'create_token', role: 'operator', by: BY } as const;
  await store.execute({ ...token, tokenHash: 't1', name: 'probe', days: null });
  await store.execute({ ...token, tokenHash: 't2', name: 'Backup', days: 3 });
  await store.execute({ kind: 'bind_hardware', hardwareId: 'hw-1' });
  const keys = { apiKey: 'api', sharedKey: 'shared' };
  await store.execute({ kind: 'set_cloud_keys', ...keys, fingerprints: keys, by: BY });
}

async function lend(store: Store, clock: ManualClock): Promise<void> {
  for (const { id } of LICENSES) {
    for (const user of ODD_USERS) await store.execute(register(user, { licenseId: id }));
    await store.execute(borrow('zoe', 'longest', { licenseId: id }));
    clock.advance(MINUTE_MS);
    await store.execute(release('Ada', { licenseId: id }));
  }
  for (const user of ['zoe', 'ada', 'Zoë']) {
    await store.execute(registerFeature(user, { licenseId: licenseId(2) }));
  }
  const wait = { mode: 'stay', forMs: 1000 } as const;
  await store.execute({ ...registerFeature('Zoë', { licenseId: licenseId(2) }), wait });
  const limited = limitingAddresses(ODD_USERS.length + 1);
  await store.execute(
    setRules({ ...limited, ...denying({ users: ['eve'] }), products: limited.products }, BY),
  );
  const sample = { product: 'cad', feature: '', rule: "reserve 2 for o'brien", reserved: 2, unused: 1 };
  await store.execute({ kind: 'sample_reservations', samples: [sample] });
  const bar = { kind: 'address', pattern: '2001:db8::/32', note: "o'brien's lab" } as const;
  await store.execute({ kind: 'add_bar', bar, by: BY });
  const setting = { name: 'page.name', value: "o'brien", shown: "o'brien" };
  await store.execute({ kind: 'change_settings', changes: [setting], by: BY });
  const position = { seq: 5, index: 0 };
  const start = { position, memory: '{"told":{}}' };
  await store.execute({ kind: 'put_channel', channel: exampleChannel(), start, by: BY });
  await store.execute({ kind: 'set_webhook_secret', secret: "o'secret", fingerprint: 'f', by: BY });
  const request = { requestId: 'r1', request: 'airgap', product: null, licenseKey: "o'key" } as const;
  await store.execute({ kind: 'open_request', ...request, by: BY });
  await store.execute(register('eve', { licenseId: licenseId(2) }));
}

async function count(store: Store, clock: ManualClock): Promise<void> {
  for (const { id } of LICENSES) {
    for (const amount of [5, 3]) await store.execute(consume(amount, { licenseId: id }));
    await store.execute({ kind: 'cut_report', licenseId: id, feature: null, reportId: `report of ${id}` });
    await store.execute(consume(7, { licenseId: id, idempotency: { key: 'k', bodyHash: 'b' } }));
  }
  const cad = licenseId(2);
  await store.execute(consume(2, { licenseId: cad, feature: 'export' }));
  await store.execute({ kind: 'cut_report', licenseId: cad, feature: 'export', reportId: 'of a feature' });
  const held = { reportId: 'report of 11', feature: null, cloudTotal: null, takesLower: false };
  await store.execute({ kind: 'resolve_report', licenseId: licenseId(11), ...held });
  await store.execute({ kind: 'cut_report', licenseId: licenseId(11), feature: null, reportId: 'second' });
  clock.advance(DAY_MS);
  await store.execute(consume(1, { licenseId: licenseId(11) }));
}

/** All earlier slots have expired. Some of these expire before the others. */
async function lendForLong(store: Store, clock: ManualClock): Promise<void> {
  for (const id of [2, 5, 11].map(licenseId)) {
    for (const user of ODD_USERS) await store.execute(register(user, { licenseId: id }));
    await store.execute(borrow('zoe', 'longest', { licenseId: id }));
    clock.advance(MINUTE_MS);
  }
  for (const user of ['ada', 'zoe']) await store.execute(registerFeature(user, { licenseId: licenseId(2) }));
}
