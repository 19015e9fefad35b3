import type { Slot } from '@berth/protocol/admin/registrations';
import type { Facts } from '../../support/berth-api.ts';
import { COUNTED, sayBorrowed, sayLimited } from './steps.ts';

/** Everything that a server has, by the keys of the steps. */
export interface Inventory {
  readonly values: Readonly<Record<string, string>>;
  /** When slots end, in milliseconds. */
  readonly ends: Readonly<Record<string, number>>;
}

type List = readonly Facts[];

/** `get`: the body of an answer. */
export async function takeInventory(get: (path: string) => Promise<Facts>): Promise<Inventory> {
  const ask = (path: string) => get(`/api/admin/${path}`);
  const { registrations, next } = await ask('registrations?limit=1000');
  if (next !== null) throw new Error('There are more slots than this test lends.');
  const values: Record<string, string> = {};
  const ends: Record<string, number> = {};
  for (const { license_id, user, borrowed_until, ends_at, features } of registrations as readonly Slot[]) {
    const key = `slot ${license_id}/${user}`;
    values[key] = borrowed_until === null ? 'held' : sayBorrowed(borrowed_until);
    ends[key] = Date.parse(ends_at);
    for (const feature of features) values[`feature ${license_id}/${user} ${feature}`] = 'held';
  }
  const parts = [
    'licenses',
    'bars',
    'tokens',
    'users',
    'settings',
    'rules',
    'keys',
    'identity',
    'channels',
  ] as const;
  const answers = await Promise.all(parts.map(async (part) => [part, await ask(part)] as const));
  const found = Object.fromEntries(answers) as Record<(typeof parts)[number], Facts>;
  const list = (part: (typeof parts)[number]) => found[part][part] as List;
  for (const { id, product, total_consumptions } of list('licenses')) {
    values[`license ${id}`] = String(product);
    if (product === COUNTED.product) values.total = String(total_consumptions);
  }
  for (const { pattern, note } of list('bars')) values[`bar ${pattern}`] = String(note);
  for (const { kind, name, is_alive } of list('tokens')) {
    if (is_alive && kind === 'api') values[`token ${name}`] = 'alive';
  }
  for (const { name, role, products, second_factor } of list('users')) {
    values[`account ${name}`] = products === null ? String(role) : sayLimited(role, products as string[]);
    if (second_factor === true) values[`second factor ${name}`] = 'on';
  }
  for (const { name, to } of list('channels')) values[`channel ${name}`] = String(to);
  for (const { name, value, source } of list('settings')) {
    if (source === 'stored') values[`setting ${name}`] = String(value);
  }
  if (found.rules.text !== '') values.rules = String(found.rules.text);
  const { cloud_keys, master_key } = found.keys as Record<'cloud_keys' | 'master_key', Facts>;
  if (cloud_keys.api_key_fingerprint !== null) values['cloud key'] = String(cloud_keys.api_key_fingerprint);
  values['master key'] = String(master_key.fingerprint);
  const [newest] = found.identity.keys as List;
  values['grant key'] = String(newest?.kid);
  return { values, ends };
}
