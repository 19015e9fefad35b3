import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DEMO_LICENSE } from '../../../packages/server/src/core/nouns/demo-license.ts';
import { createRandom } from '../../support/random.ts';
import { backup, restore } from './backup-scenarios.ts';
import { Book } from './book.ts';
import { type Play, type Recording, record } from './recording.ts';
import { useSecondFactor } from './second-factor.ts';
import type { Site } from './site.ts';
import { addDemo, administer, count, fillLog, lend, rotate, type Steps, useFeature } from './steps.ts';

/** What a server does while it is recorded. */
export interface Scenario {
  readonly name: string;
  /** How many of a hundred cuts. */
  readonly share: number;
  record(play: Play): Promise<Recording>;
}

/** Clients of all kinds. */
function everybody(seed: number): readonly Steps[] {
  const lenders = [0, 1, 2, 3].map((client) => lend(client, seed + client));
  const counters = [count(4, seed + 4), count(5, seed + 5)];
  return [...lenders, useFeature(7, seed + 7), ...counters, administer(seed + 6), useSecondFactor()];
}

/** Clients come to a server, some of whose syncs may fail, and the power is cut at last. */
function serve(makeClients: (seed: number) => readonly Steps[], failing: readonly number[] = []) {
  return ({ seed, changes }: Play) =>
    async (site: Site) => {
      await site.start({ failing });
      const book = new Book((await site.takeInventory()).values);
      await site.load(book, makeClients(seed), changes);
      return book;
    };
}

const serveEverybody = serve(everybody);

/** A server is killed, stopped and started: what a crash left in its log is moved into the database. */
function restart(makeClients: (seed: number) => readonly Steps[]) {
  return ({ seed, changes, lives }: Play) =>
    async (site: Site) => {
      await site.start();
      const book = new Book((await site.takeInventory()).values);
      const clients = makeClients(seed);
      for (let life = 0; life < lives; life++) {
        const signal = (seed + life) % 2 === 0 ? 'SIGKILL' : 'SIGTERM';
        await site.load(book, clients, changes / (lives + 1), signal);
        await site.start();
      }
      await site.load(book, clients, changes / (lives + 1));
      return book;
    };
}

const restartEverybody = restart(everybody);
const restartRenewals = restart((seed) => [0, 1, 2, 3].map((client) => lend(client, seed, { renews: 0.9 })));
const rotators = (seed: number) => [rotate(), lend(1, seed), count(2, seed), useSecondFactor()];
const serveRotation = serve(rotators);

/** Until SQLite has moved its log into the database by itself. */
async function fillTheLog({ seed }: Play, site: Site): Promise<Book> {
  await site.start();
  const book = new Book((await site.takeInventory()).values);
  const readBytes = () => statSync(join(site.data, 'berth.db')).size;
  const before = readBytes();
  await site.load(book, [fillLog(), lend(1, seed), count(2, seed)], () => readBytes() > 2 * before);
  await site.load(book, [lend(3, seed), count(4, seed)], 20);
  return book;
}

/** Only around that move: before it, nothing is special. */
function aroundMove(recording: Recording): Recording {
  const { inode } = recording.image.children.data?.children['berth.db'] ?? { inode: 0 };
  const writes = [...recording.record.entries()].filter(
    ([, one]) => one.kind === 'write' && one.inode === inode,
  );
  const last = writes.at(-1)?.[0] ?? 0;
  const first = writes.find(([position]) => position > last - 2 * writes.length)?.[0] ?? 0;
  return { ...recording, from: Math.max(0, first - 200) };
}

/** From nothing: before the server is ready, it has promised nothing. */
async function startFirst(play: Play): Promise<Recording> {
  const recording = await record(play, { prepare: async () => {} }, async (site) => {
    await site.start();
    const book = new Book((await site.takeInventory()).values);
    await site.load(book, [once(addDemo())], 1);
    const demo = { licenses: [DEMO_LICENSE] };
    const clients = [lend(1, play.seed, demo), lend(2, play.seed + 1, demo)];
    await site.load(book, [...clients, administer(play.seed, { removes: false })], play.changes / 4);
    return book;
  });
  const ready = recording.record.findIndex(({ kind }) => kind === 'answer');
  const expectAt = (cut: number) => (cut <= ready ? null : recording.expectAt(cut));
  return { ...recording, expectAt };
}

function* once(step: ReturnType<typeof addDemo>): Steps {
  for (;;) yield step;
}

/** The start of a server has fewer syncs. */
const FIRST_TO_FAIL = 15;

/** Some of the syncs fail, and have lost for good what they should have written. */
function failSyncs(play: Play): Promise<Recording> {
  const random = createRandom(play.seed);
  const all = Array.from({ length: 5 * play.changes }, (_, index) => index + FIRST_TO_FAIL);
  if (random() < 0.3) return record(play, {}, (site) => breakDisk(play, site, all.slice(random() * 40)));
  const failing = all.filter(() => random() < 0.1);
  return record(play, {}, serve(random() < 0.4 ? rotators : everybody, failing)(play));
}

/** All syncs fail, until the server is killed. The next one finds what the last one could not sync. */
async function breakDisk({ seed, changes }: Play, site: Site, failing: readonly number[]): Promise<Book> {
  await site.start({ failing });
  const book = new Book((await site.takeInventory()).values);
  const clients = everybody(seed);
  await site.load(book, clients, (unclear) => unclear > 0, 'SIGKILL');
  await site.start();
  await site.load(book, clients, changes / 2);
  return book;
}

export const MIXED: Scenario = {
  name: 'mixed load',
  share: 30,
  record: (play) => record(play, {}, serveEverybody(play)),
};

export const SCENARIOS: readonly Scenario[] = [
  MIXED,
  { name: 'first start', share: 10, record: startFirst },
  { name: 'restarts', share: 12, record: (play) => record(play, {}, restartEverybody(play)) },
  { name: 'renewals', share: 8, record: (play) => record(play, {}, restartRenewals(play)) },
  {
    name: 'checkpoint',
    share: 4,
    record: async (play) => aroundMove(await record(play, {}, (site) => fillTheLog(play, site))),
  },
  { name: 'key rotation', share: 10, record: (play) => record(play, {}, serveRotation(play)) },
  { name: 'failed syncs', share: 12, record: failSyncs },
  { name: 'backup', share: 6, record: backup },
  { name: 'restore', share: 8, record: restore },
];
