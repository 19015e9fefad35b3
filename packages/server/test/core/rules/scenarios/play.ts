import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { HOUR_MS, instant, plus, SECOND_MS } from '../../../../src/core/nouns/instant.ts';
import type { Outcome } from '../../../../src/core/outcome.ts';
import type { RuleSet } from '../../../../src/core/rules/rule-set.ts';
import { parseYaml } from '../../../../src/parse-yaml.ts';
import type { MasterKey } from '../../../../src/secrets/seal.ts';
import { parseRules } from '../../../../src/services/rules/parse-rules.ts';
import { createManualClock } from '../../../../src/store/clock.ts';
import type { Store } from '../../../../src/store/store.ts';
import { openQuickly } from '../../../store/exam/sqlite-file.ts';
import {
  borrow,
  exampleFeature,
  exampleLicense,
  NOW,
  register,
  registerFeature,
  releaseFeature,
  setRules,
  unregister,
} from '../../examples.ts';

/**
 * Rules of a product, and lines that are written as in `expect`, without the product. Every line is played on
 * a store of its own, and what `expect` can say is checked as an expectation, too. Beyond `expect`:
 *
 * - `borrow`: asks to borrow for so many hours, or for the `longest` time. `hours`: for how many it is lent.
 * - `borrowed`, `borrowedHere`: like `held` and `heldByAddress`, of borrowed slots.
 * - `waiting`: they ask in this order, and wait. Then as many slots are returned, one after the other.
 *   `served`: who of them gets one, in order.
 *
 * Without `at` it is a Tuesday, 13:00 in Berlin.
 */
export type Row = readonly [title: string, rules: string, ...lines: string[]];

/** ada is in team and staff, bob in staff, eve in guests, kim in team and guests, zoe in none. */
export const GROUPS = `
groups:
  team:   { users: [ada, kim, "team-*"], hosts: ["ws-*"], addresses: [10.1.0.0/16] }
  staff:  { groups: [team], users: [bob, "staff-*"] }
  guests: { users: [eve, kim, "guests-*"] }
times:
  office: { days: mon-fri, from: "08:00", to: "18:00", zone: Europe/Berlin }
  night:  { days: mon-fri, from: "22:00", to: "06:00", zone: Europe/Berlin }
`;

interface Scene extends Place {
  readonly user?: string;
  readonly feature?: string;
  readonly held?: Readonly<Record<string, number>>;
  readonly heldByHost?: number;
  readonly heldByAddress?: number;
  readonly free?: number;
  readonly at?: string;
  readonly answer?: 'served' | 'refused';
  /** `null`: the refusal names none. */
  readonly rule?: string | null;
  readonly borrow?: number | 'longest';
  readonly hours?: number;
  readonly borrowed?: Readonly<Record<string, number>>;
  readonly borrowedHere?: number;
  readonly waiting?: readonly string[];
  readonly served?: readonly string[];
}

interface Place {
  readonly host?: string | undefined;
  readonly address?: string | undefined;
}

interface Holder extends Place {
  readonly user: string;
  readonly isBorrower?: boolean;
}

const masterKey = randomBytes(32) as Uint8Array as MasterKey;
const ENOUGH = 100;
const WAIT = { mode: 'stay', forMs: 30 * SECOND_MS } as const;

export function readRules(rules: string, lines: readonly string[] = []) {
  const expected = lines.map((line) => `  - { product: cad, ${line} }\n`);
  const expect = expected.length === 0 ? '' : `expect:\n${expected.join('')}`;
  const parsed = parseRules(`${GROUPS}products:\n  cad: { ${rules} }\n${expect}`);
  assert.ok(!('errors' in parsed), JSON.stringify(parsed));
  return parsed;
}

/** `folder`: for the files of the stores. */
export async function play(folder: string, [, rules, ...lines]: Row): Promise<void> {
  const scenes = lines.map((line) => ({ line, scene: parseYaml(`{ ${line} }`) as Scene }));
  const expected = scenes.filter(({ scene }) => isExpectation(scene)).map(({ line }) => line);
  const parsed = readRules(rules, expected);
  for (const [index, { ok, message }] of parsed.expectations.entries()) {
    assert.ok(ok, `${expected[index]}: ${message}`);
  }
  for (const { line, scene } of scenes) await playScene(folder, parsed.rules, scene, line);
}

/** What `expect` does not know. */
const BEYOND = ['borrow', 'borrowed', 'borrowedHere', 'waiting'];

function isExpectation(scene: Scene): boolean {
  return !BEYOND.some((field) => field in scene);
}

let stores = 0;

async function playScene(folder: string, rules: RuleSet, scene: Scene, line: string): Promise<void> {
  const clock = createManualClock(scene.at === undefined ? NOW : instant(Date.parse(scene.at)));
  const file = join(folder, `${++stores}.db`);
  const store = openQuickly({ file, masterKey, clock, onNotice: () => {} });
  try {
    await prepare(store, scene);
    await store.execute(setRules(rules));
    if (scene.waiting !== undefined) assert.deepEqual(await serve(store, scene), scene.served, line);
    else expectAnswer(await ask(store, scene), scene, line);
  } finally {
    await store.close();
  }
}

/** What is held was lent before there were rules. Those who ask for a feature hold a slot of the license. */
async function prepare(store: Store, scene: Scene): Promise<void> {
  const { feature, free = scene.waiting === undefined ? ENOUGH : 0 } = scene;
  const holders = listHolders(scene);
  const slots = holders.length + free;
  const floating = { slots, timeoutMinutes: 10, canBorrow: true, maxBorrowHours: ENOUGH };
  const features = ['render', 'other'].map((code) => ({ ...exampleFeature('render', { floating }), code }));
  const license = exampleLicense({
    slots: feature === undefined ? slots : 2 * ENOUGH,
    maxBorrowHours: ENOUGH,
    features,
  });
  await store.execute({ kind: 'install_license', license, by: 'admin' });
  for (const { user, isBorrower = false, ...place } of holders) {
    const take = isBorrower ? borrow(user, 'longest', from(place)) : register(user, from(place));
    expectServed(await store.execute(take), user);
    if (feature !== undefined) expectServed(await store.execute(registerFeature(user, { feature })), user);
  }
  const { user, host, address, waiting = [] } = scene;
  if (feature === undefined) return;
  for (const name of user === undefined ? waiting : [user]) {
    expectServed(await store.execute(register(name, from({ host, address }))), name);
  }
}

function listHolders(scene: Scene): readonly Holder[] {
  const { host, address, held = {}, borrowed = {}, waiting = [] } = scene;
  const many = (count: number | undefined, make: (number: number) => Holder) =>
    Array.from({ length: count ?? 0 }, (_, index) => make(index + 1));
  const members = (groups: Readonly<Record<string, number>>, facts: Omit<Holder, 'user'>, mark = '') =>
    Object.entries(groups).flatMap(([group, count]) =>
      many(count, (number) => ({ user: `${group}-${mark}${number}`, ...facts })),
    );
  const here = { host, address: host === undefined ? address : undefined };
  const besides = (mark: string, number: number) => ({
    user: `${mark}-${number}`,
    host: `${mark}-${number}`,
  });
  return [
    ...members(held, {}),
    ...members(borrowed, { isBorrower: true }, 'away-'),
    ...many(scene.heldByHost, (number) => ({ ...besides('beside', number), ...here })),
    ...many(scene.heldByAddress, (number) => ({ ...besides('near', number), address })),
    ...many(scene.borrowedHere, (number) => ({ ...besides('gone', number), address, isBorrower: true })),
    ...many(waiting.length, (number) => ({ user: `leaves-${number}` })),
  ];
}

/** Where a request comes from. */
function from({ host, address }: Place) {
  const by = address === undefined ? 'client' : { name: 'client', address };
  return { host: { hostname: host ?? null, address: address ?? null, info: null }, by };
}

function ask(store: Store, scene: Scene): Promise<Outcome> {
  const { user = '', feature, borrow: hours } = scene;
  const until =
    hours === undefined ? null : hours === 'longest' ? hours : plus(nowOf(scene), hours * HOUR_MS);
  if (feature !== undefined) return store.execute(registerFeature(user, { feature, until, ...from(scene) }));
  return store.execute(until === null ? register(user, from(scene)) : borrow(user, until, from(scene)));
}

function nowOf({ at }: Scene) {
  return at === undefined ? NOW : instant(Date.parse(at));
}

/** Who gets a slot, in order, when those who hold the others leave one by one. */
async function serve(store: Store, { feature, waiting = [] }: Scene): Promise<readonly string[]> {
  for (const user of waiting) {
    const wait = { wait: WAIT, ...from({}) };
    const command =
      feature === undefined ? register(user, wait) : registerFeature(user, { feature, ...wait });
    const { kind } = await store.execute(command);
    assert.ok(kind === 'waiting' || kind === 'refused', `${user} is served at once`);
  }
  const served: string[] = [];
  for (const number of waiting.keys()) {
    const user = `leaves-${number + 1}`;
    const left = feature === undefined ? unregister(user) : releaseFeature(user, { feature });
    await store.execute(left);
    const scope = { licenseId: null, product: null, user: null, limit: 2 * ENOUGH, after: null };
    const { registrations } = await store.read({ kind: 'list_registrations', ...scope });
    const holding = registrations
      .filter(({ features }) => feature === undefined || features.includes(feature))
      .map(({ registration }) => registration.user);
    served.push(...waiting.filter((one) => holding.includes(one) && !served.includes(one)));
  }
  return served;
}

function expectServed(outcome: Outcome, title: string): void {
  assert.notEqual(outcome.kind, 'refused', `${title}: ${JSON.stringify(outcome)}`);
}

function expectAnswer(outcome: Outcome, { answer, rule, hours, ...scene }: Scene, line: string): void {
  const said = `${line}: ${JSON.stringify(outcome)}`;
  assert.equal(outcome.kind === 'refused' ? 'refused' : 'served', answer, said);
  if (rule !== undefined && outcome.kind === 'refused') {
    const { rule: text = null } = outcome.details as { rule?: string };
    assert.ok(text === rule || (rule !== null && namesOf(text ?? '').includes(rule)), said);
  }
  if (hours !== undefined && outcome.kind === 'granted') {
    assert.equal(outcome.registration.borrowedUntil, plus(nowOf(scene), hours * HOUR_MS), said);
  }
}

/** A rule by its kind, or by its text, or by one of the rules in it. */
function namesOf(rule: string): readonly string[] {
  return [...rule.split(' ').slice(0, 1), ...rule.split(', ')];
}
