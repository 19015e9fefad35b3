import { type CloudProcess, startCloudProcess } from '../../support/cloud/cloud-process.ts';
import { createRandom, pickNumber, pickOne, type Random } from '../../support/random.ts';
import type { Fault, Life } from '../door/fault.ts';
import { Book } from './book.ts';
import { Middle } from './middle.ts';
import { Site } from './site.ts';
import { METERS, Vendor } from './vendor.ts';

/**
 * A man in the middle of the link between two servers and their cloud, who keeps every answer and replays,
 * mixes, cuts and delays, in random order, while people work and the vendor changes the terms. After every
 * step what the servers hold must be what the vendor has granted since the step began, or what they held
 * before; whenever the man is honest for a while, everything on both sides must be exact.
 */
interface MitmOptions {
  readonly seed: number;
  readonly exchanges: number;
  /** One that runs already; its other licenses are left alone. */
  readonly cloud?: CloudProcess;
  /** The only tricks that are played. */
  readonly only?: readonly string[];
}

interface MitmReport {
  readonly exchanges: number;
  readonly steps: number;
  readonly quietPoints: number;
  /** How often each trick was played. */
  readonly played: ReadonlyMap<string, number>;
  readonly counted: number;
  readonly violations: readonly string[];
}

interface World {
  readonly vendor: Vendor;
  readonly middle: Middle;
  readonly sites: readonly Site[];
  readonly book: Book;
  readonly random: Random;
}

const STEPS_BETWEEN_QUIET_POINTS = 40;

async function runCloudMitm(t: Life, options: MitmOptions): Promise<MitmReport> {
  const world = await openWorld(t, options);
  const { middle, book } = world;
  let steps = 0;
  let quietPoints = 0;
  await beQuiet(world, 'at the beginning');
  await writeFiles(world);
  middle.exchanges = 0;
  while (middle.exchanges < options.exchanges && book.violations.length === 0) {
    steps += 1;
    await takeStep(world, steps);
    if (steps % STEPS_BETWEEN_QUIET_POINTS !== 0) continue;
    quietPoints += 1;
    await beQuiet(world, `quiet point ${quietPoints}`);
  }
  const { exchanges } = middle;
  if (book.violations.length === 0) {
    for (const key of world.vendor.keys) world.vendor.release(key);
    await beQuiet(world, 'at the end');
    await verifyAudits(world);
  }
  middle.end();
  return {
    ...{ exchanges, steps, quietPoints, played: middle.played, violations: book.violations },
    counted: world.vendor.keys.reduce((sum, key) => sum + book.sumOf(key, null), 0),
  };
}

/** Two servers; each has a license of its own, one has two, and both share one. */
async function openWorld(t: Life, options: MitmOptions): Promise<World> {
  const { seed, only, cloud = await startCloudProcess(t) } = options;
  const random = createRandom(seed);
  const vendor = Vendor.open(t, cloud, 4);
  const middle = new Middle({ url: cloud.url, vendor, random, ...(only && { only }) });
  const [shared = '', first = '', second = '', third = ''] = vendor.keys;
  const sites = [
    await Site.open(t, cloud, middle, { hardwareId: 'north', keys: [shared, first, second] }),
    await Site.open(t, cloud, middle, { hardwareId: 'south', keys: [shared, third] }),
  ];
  return { vendor, middle, sites, random, book: new Book(vendor, sites) };
}

/** The vendor hands out files with generous terms, which the man in the middle gets hold of. */
async function writeFiles({ vendor, middle, sites }: World): Promise<void> {
  for (const { hardwareId, keys } of sites) {
    for (const key of keys) middle.files.set(`${key} ${hardwareId}`, [...vendor.writeFiles(key, hardwareId)]);
  }
}

const MAX_AT_ONCE = 3;

/** The vendor may change something first; then some people work at once, with the man in between. */
async function takeStep(world: World, step: number): Promise<void> {
  const { middle, book, random, vendor, sites } = world;
  if (random() < 0.3) vendor.change(random, pickOne(random, vendor.keys));
  if (random() < 0.02) pickOne(random, sites).restart();
  await book.begin();
  middle.isHonest = false;
  if (random() < 0.2) await middle.deliverLate();
  const works = pickWorks(world);
  middle.running = works.length;
  const work = async ({ kind, site, key }: Work) => {
    await WORKS[kind](world, site, key).finally(() => middle.noteDone());
  };
  await Promise.all(works.map(work));
  const done = works.map(({ kind, site, key }) => `${kind} ${site.hardwareId} ${key}`);
  await book.compare(`step ${step} [${done.join(', ')}] [${middle.takeRecent().join(', ')}]`);
}

interface Work {
  readonly kind: keyof typeof WORKS;
  readonly site: Site;
  readonly key: string;
}

/** For different licenses, or the same one on different servers. */
function pickWorks({ random, sites }: World): readonly Work[] {
  const free = sites.flatMap((site) => site.keys.map((key) => ({ site, key })));
  const number = pickNumber(random, { from: 1, to: MAX_AT_ONCE });
  return Array.from({ length: number }, () => {
    const at = pickNumber(random, { from: 0, to: free.length - 1 });
    const [place] = free.splice(at, 1);
    return { kind: pickOne(random, KINDS), ...(place as (typeof free)[number]) };
  });
}

type DoWork = (world: World, site: Site, key: string) => Promise<unknown>;

const MAX_USERS = 8;

const WORKS = {
  sync: (world, site, key) => countAndSync(world, site, key),
  check: ({ vendor }, site, key) => site.sync(vendor.idOf(key)),
  lend,
  remove: ({ vendor }, site, key) => site.remove(vendor.idOf(key)),
  add: (_, site, key) => site.add(key),
} as const satisfies Record<string, DoWork>;

const KINDS: readonly (keyof typeof WORKS)[] = [
  ...(['sync', 'sync', 'sync', 'sync', 'check', 'check', 'lend', 'remove', 'add', 'add'] as const),
];

async function countAndSync(world: World, site: Site, key: string): Promise<void> {
  const { random, vendor } = world;
  for (const meter of METERS) if (random() < 0.7) await count(world, site, key, meter);
  const syncing = site.sync(vendor.idOf(key));
  // Work goes on while the server talks to its cloud.
  if (random() < 0.3) await count(world, site, key, null);
  await syncing;
}

async function count(
  { vendor, random, book }: World,
  site: Site,
  key: string,
  meter: (typeof METERS)[number],
) {
  const amount = pickNumber(random, { from: 1, to: 9 });
  const { status } = await site.count(vendor.idOf(key), meter, amount);
  if (status === 200) book.acknowledge(key, meter, amount);
}

/** A license that runs lends while it has a free slot, and one that is stopped does not. */
async function lend({ vendor, random, book }: World, site: Site, key: string): Promise<void> {
  const id = vendor.idOf(key);
  const user = `user-${pickNumber(random, { from: 1, to: MAX_USERS })}`;
  const held = book.heldBefore(site, key);
  const { status, text } = await site.register(id, user);
  const isFree = held !== undefined && held.stops.length === 0 && held.inUse < held.terms.slots;
  const isRefusable = held === undefined || held.stops.length > 0;
  if ((isFree && status !== 200) || (isRefusable && status === 200)) {
    book.violations.push(`${site.hardwareId} ${key} answered a register with ${status}: ${text}`);
  }
  if (random() < 0.5) await site.unregister(id, user);
}

/** Nobody is in between; what is missing is put right as people would, until nothing is left to tell. */
async function beQuiet(world: World, what: string): Promise<void> {
  const { middle, sites, vendor, book } = world;
  middle.isHonest = true;
  await middle.deliverLate();
  await book.begin();
  for (const site of sites) {
    const held = await site.look();
    for (const key of site.keys) {
      const isOn = vendor.now(key).devices.includes(site.hardwareId);
      if (isOn && held.has(key)) continue;
      vendor.release(key);
      if (!(await site.add(key))) book.violations.push(`${what}: ${site.hardwareId} cannot add ${key}`);
    }
  }
  await syncAll(world);
  for (const site of sites) for (const key of site.keys) await settleUncertain(world, site, key);
  await syncAll(world);
  await book.compareExactly(what);
}

/** Twice: what one server has told last, the other one has not heard yet. */
async function syncAll({ sites, vendor }: World): Promise<void> {
  const ROUNDS = 2;
  for (let round = 0; round < ROUNDS; round++) {
    for (const site of sites) for (const key of site.keys) await site.sync(vendor.idOf(key));
  }
}

/** The vendor is asked whether it has counted a report that nobody knows about. */
async function settleUncertain({ vendor }: World, site: Site, key: string): Promise<void> {
  for (const meter of METERS) {
    const { uncertainIds } = await site.readBacklog(vendor.idOf(key), meter);
    for (const id of uncertainIds) await site.settle(id, vendor.hasCounted(key, id));
  }
}

async function verifyAudits({ sites, book }: World): Promise<void> {
  for (const site of sites) {
    const { ok, problems } = await site.verifyAudit();
    if (!ok) book.violations.push(`audit of ${site.hardwareId}: ${JSON.stringify(problems)}`);
  }
}

/** Fewer kinds show little. */
const LEAST_KINDS = 20;

export const cloudMitm: Fault = {
  name: 'cloud-mitm',
  promises: [3, 5],
  promise:
    'Replaying, mixing or cutting messages between a server and its cloud changes nothing and loses nothing.',
  unit: 'exchanges',
  sizes: { small: 60, full: 10_000 },
  async run({ count, seed, life }) {
    const report = await runCloudMitm(life, { seed, exchanges: count });
    const { steps, quietPoints, counted, played } = report;
    const kinds = [...played.values()].filter((times) => times > 0).length;
    const few = kinds < LEAST_KINDS ? [`only ${kinds} kinds of tricks were played`] : [];
    const facts = {
      steps,
      'times that both sides had to agree exactly': quietPoints,
      'units counted': counted,
      'kinds of tampering': kinds,
    };
    return { count: Math.min(count, report.exchanges), facts, violations: [...report.violations, ...few] };
  },
};
