import { DEMO_LICENSE } from '../../../packages/server/src/core/nouns/demo-license.ts';
import type { License } from '../../../packages/server/src/core/nouns/license.ts';
import { exampleFeature, exampleLimits } from '../../../packages/server/test/core/examples.ts';
import type { Facts } from '../../support/berth-api.ts';
import { createRandom, pickNumber, pickOne, type Random } from '../../support/random.ts';
import { testLicense } from '../../support/test-license.ts';
import { ANYTHING, type Step, type Value } from './book.ts';

const TIMEOUT_MINUTES = 120;
const facts = { timeoutMinutes: TIMEOUT_MINUTES };

const FLOATING = {
  floating: { slots: 20, timeoutMinutes: TIMEOUT_MINUTES, canBorrow: true, maxBorrowHours: 168 },
};

/** Clients compete for its slots. */
const SCARCE = testLicense(1, { ...facts, product: 'scarce', slots: 3 });
/** It has room for all of them. */
const ROOMY = testLicense(2, {
  ...facts,
  product: 'roomy',
  slots: 100,
  features: [exampleFeature('render', FLOATING)],
});
export const COUNTED = testLicense(3, {
  product: 'counted',
  consumption: exampleLimits({ unlimited: true }),
});
/** Lent after the cut. */
export const SPARE = testLicense(4, { ...facts, product: 'spare', slots: 5 });
const REMOVABLE = Array.from({ length: 30 }, (_, index) =>
  testLicense(100 + index, { product: `removable-${index}`, slots: 2 }),
);
export const LICENSES = [SCARCE, ROOMY, COUNTED, SPARE, ...REMOVABLE];

/** Steps of one client, without an end. */
export type Steps = Generator<Step, never>;

type Lent = Pick<License, 'id' | 'timeoutMinutes'>;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

function slotStep(
  kind: 'register' | 'borrow' | 'unregister',
  license: Lent,
  user: string,
  random: Random,
): Step {
  const until = new Date(
    Date.now() + pickNumber(random, { from: 30 * HOUR_MS, to: 100 * HOUR_MS }),
  ).toISOString();
  const body = { license_id: license.id, user, os_hostname: 'office' };
  const shared = { key: `slot ${license.id}/${user}`, path: `/api/v4/${kind}` };
  const absentIf = ['device_not_found', 'floating_not_available'];
  if (kind === 'unregister') return { ...shared, body, absentIf, mayBecome: () => null, became: () => null };
  return {
    ...shared,
    body: kind === 'borrow' ? { ...body, borrowed_until: until } : body,
    absentIf,
    lastsMs: license.timeoutMinutes * MINUTE_MS,
    mayBecome: (before) => (kind === 'borrow' ? sayBorrowed(until) : (before ?? 'held')),
    became: ({ borrowed_until: end }) => (typeof end === 'string' ? sayBorrowed(end) : 'held'),
  };
}

export function sayBorrowed(until: string): string {
  return `borrowed until ${until}`;
}

export function sayLimited(role: unknown, products: readonly string[]): string {
  return `${role} of ${products.join(', ')}`;
}

interface LendOptions {
  /** How often it renews, whatever else it might do. */
  readonly renews?: number;
  readonly licenses?: readonly Lent[];
}

/** A client that asks for slots, borrows and gives back, for a few users. */
export function* lend(client: number, seed: number, options: LendOptions = {}): Steps {
  const { renews = 0.2, licenses = [SCARCE, ROOMY, ROOMY] } = options;
  const random = createRandom(seed);
  for (;;) {
    const user = `user-${client}-${pickNumber(random, { from: 0, to: 3 })}`;
    const license = pickOne(random, licenses);
    const kinds = ['register', 'borrow', 'unregister'] as const;
    yield slotStep(random() < renews ? 'register' : pickOne(random, kinds), license, user, random);
  }
}

/** A client that has a slot, and takes and gives back one of a feature. */
export function* useFeature(client: number, seed: number): Steps {
  const random = createRandom(seed);
  const user = `user-${client}`;
  const body = { license_id: ROOMY.id, user, os_hostname: 'office', feature: 'render' };
  const key = `feature ${ROOMY.id}/${user} render`;
  yield slotStep('register', ROOMY, user, random);
  for (;;) {
    yield { key, path: '/api/v4/featureRegister', body, mayBecome: () => 'held', became: () => 'held' };
    yield { key, path: '/api/v4/featureRelease', body, mayBecome: () => null, became: () => null };
  }
}

/** A client that counts, each time under a key of its own. */
export function* count(client: number, seed: number): Steps {
  const random = createRandom(seed);
  for (let number = 0; ; number++) {
    const amount = pickOne(random, [1, 1, 2, 5]);
    yield {
      key: 'total',
      path: '/api/v4/add_consumption',
      body: { product: COUNTED.product, consumptions: amount },
      headers: { 'idempotency-key': `count-${client}-${number}` },
      count: amount,
      mayBecome: () => ANYTHING,
      became: () => ANYTHING,
    };
  }
}

function change(
  key: string,
  path: string,
  body: object,
  value: Value,
  became: Step['became'] = () => value,
): Step {
  return { key, path: `/api/${path}`, body: body as Step['body'], mayBecome: () => value, became };
}

const bar = (n: number) =>
  change(
    `bar barred-${n}`,
    'admin/bars',
    { kind: 'user', pattern: `barred-${n}`, note: `left ${n}` },
    `left ${n}`,
  );
const unbar = (n: number) =>
  change(`bar barred-${n}`, 'admin/bars/remove', { kind: 'user', pattern: `barred-${n}` }, null);
const createToken = (n: number) =>
  change(
    `token program-${n}`,
    'admin/tokens/create',
    { name: `program-${n}`, role: 'user', days: 90 },
    'alive',
  );
const revokeToken = (n: number) =>
  change(`token program-${n}`, 'admin/tokens/revoke', { id: `program-${n}` }, null);
const addAccount = (n: number) =>
  change(
    `account person-${n}`,
    'admin/users/add',
    { name: `person-${n}`, role: 'user', password: `a long one ${n}` },
    'user',
  );
/** Without products, an operator is not limited any more. */
const setRole = (n: number, products?: readonly string[]) => {
  const value = products === undefined ? 'operator' : sayLimited('operator', products);
  const body = { name: `person-${n}`, role: 'operator', products };
  const became = ({ changed }: Facts) => (changed === 0 ? null : value);
  return change(`account person-${n}`, 'admin/users/role', body, value, became);
};
const removeAccount = (n: number) =>
  change(`account person-${n}`, 'admin/users/remove', { name: `person-${n}` }, null);
/** A message to nobody would fail, so it is paused. */
const setChannel = (n: number) => {
  const [name, origin] = [`ops-${n % 3}`, `https://chat-${n}.example.com`];
  const body = { name, kind: 'slack', url: `${origin}/hook`, paused: true };
  return change(`channel ${name}`, 'admin/channels', body, `${origin}/…`);
};
const removeChannel = (n: number) =>
  change(`channel ops-${n % 3}`, 'admin/channels/remove', { name: `ops-${n % 3}` }, null);
const setName = (n: number) =>
  change('setting page.name', 'admin/settings', { changes: { 'page.name': `Office ${n}` } }, `Office ${n}`);
const removeLicense = (n: number) =>
  change(`license ${100 + n}`, 'admin/licenses/remove-locally', { license_id: 100 + n }, null);
const setCloudKey = (n: number) =>
  change('cloud key', 'v4/setKeys', { api_key: `api-key-${n}` }, ANYTHING, (body) =>
    String(body.api_key_fingerprint),
  );
const rotateIdentity = () =>
  change('grant key', 'admin/identity/rotate', {}, ANYTHING, (body) =>
    String((body.keys as { kid: string }[])[0]?.kid),
  );
const rotateMasterKey = () =>
  change('master key', 'admin/keys/rotate', {}, ANYTHING, (body) => String(body.fingerprint));

/** `padding`: how many more bytes, to fill the log. */
function applyRules(n: number, padding = 0): Step {
  const comment = `# ${'x'.repeat(97)}\n`.repeat(padding / 100);
  const text = `# Number ${n}\n${comment}groups:\n  team: { users: [ada-${n}] }\n`;
  return change('rules', 'admin/rules/apply', { text }, text);
}

/** An administrator, who changes everything else, one after the other, forwards and back. */
export function* administer(seed: number, { removes = true } = {}): Steps {
  const random = createRandom(seed);
  for (let n = 0; ; n++) {
    yield bar(n);
    yield createToken(n);
    yield setName(n);
    yield applyRules(n);
    yield setChannel(n);
    if (n % 4 === 0) yield addAccount(n);
    yield setCloudKey(n);
    if (removes && n < REMOVABLE.length) yield removeLicense(n);
    if (random() < 0.5) yield unbar(n);
    if (random() < 0.5) yield revokeToken(n);
    if (random() < 0.5) yield removeChannel(n);
    if (n % 4 === 0) yield setRole(n, ['scarce', `later-${n}`]);
    if (n % 4 === 1) yield setRole(n - 1);
    if (n % 4 === 2 && random() < 0.5) yield removeAccount(n - 2);
    if (n % 3 === 0) yield rotateIdentity();
    if (n % 5 === 4) yield rotateMasterKey();
  }
}

export const addDemo = () =>
  change(`license ${DEMO_LICENSE.id}`, 'admin/licenses/add-demo', {}, DEMO_LICENSE.product);

/** Nothing but new master keys, and secrets under them. */
export function* rotate(): Steps {
  for (let n = 0; ; n++) {
    yield rotateMasterKey();
    yield setCloudKey(n);
  }
}

/** Long texts, which fill the log so that it is moved into the database. */
export function* fillLog(): Steps {
  for (let n = 0; ; n++) yield applyRules(n, 900_000);
}
