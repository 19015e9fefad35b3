import { globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { saveBackup } from '../../support/backups.ts';
import { pollUntil } from '../../support/poll.ts';
import { Book, type Expected } from './book.ts';
import type { Happening } from './record.ts';
import { type Play, type Recording, record, seed } from './recording.ts';
import type { Site } from './site.ts';
import { administer, count, lend, type Steps } from './steps.ts';

const BACKUPS = 'backups';
const PASSPHRASE = 'a passphrase for backups';

function fewClients(seed: number): readonly Steps[] {
  return [lend(0, seed), lend(1, seed + 1), count(2, seed + 2), administer(seed + 3)];
}

/** The first output of a process, which is its answer. */
function findAnswer(happenings: readonly Happening[], process: number): number {
  const isAnswer = (one: Happening) => one.kind === 'answer' && one.port === 0 && one.process === process;
  const position = happenings.findIndex(isAnswer);
  if (position < 0) throw new Error(`Process ${process} has said nothing.`);
  return position;
}

async function seedWithFolder(site: Site): Promise<void> {
  await seed(site);
  mkdirSync(join(site.root, BACKUPS), { mode: 0o700 });
}

async function findScheduled({ data }: Site): Promise<string | undefined> {
  return globSync(join(data, '**', '*.backup'))[0];
}

/** Backups are made while clients come: for a command, and by the schedule of the server. */
export async function backup(play: Play): Promise<Recording> {
  const made = new Map<string, number>();
  const args = ['--backup-schedule', '5m'];
  const recording = await record(play, { prepare: seedWithFolder, args }, async (site) => {
    await site.start();
    const book = new Book((await site.takeInventory()).values);
    // The schedule takes some seconds to begin.
    if (play.lives > 1) await pollUntil('a scheduled backup', () => findScheduled(site));
    let isOver = false;
    const loading = site.load(book, fewClients(play.seed), () => isOver);
    for (let number = 1; number <= play.lives; number++) {
      const name = `${number}.backup`;
      made.set(name, await site.run('backup', join(site.root, BACKUPS, name)));
    }
    isOver = true;
    await loading;
    return book;
  });
  const answers = [...made].map(([name, process]) => ({ name, at: findAnswer(recording.record, process) }));
  const expectAt = (cut: number) => {
    const backups = answers.filter(({ at }) => at < cut).map(({ name }) => join(BACKUPS, name));
    return recording.expectAt(cut)?.map((expected) => ({ ...expected, backups })) ?? null;
  };
  return { ...recording, expectAt };
}

/** Nothing is said about ends and counts: each total is a value. */
function expectAll(values: Readonly<Record<string, string>>): Expected {
  const each = Object.entries(values).map(([key, value]) => [key, [value]] as const);
  const nothing = { ends: {}, totalBefore: 0, counts: [], tokens: {} };
  return { ...nothing, values: Object.fromEntries(each), acknowledged: each.length };
}

/**
 * A backup under another master key replaces the data of a server that was killed: all of the old is there,
 * or all of the new.
 */
export async function restore(play: Play): Promise<Recording> {
  let old: Readonly<Record<string, string>> = {};
  let restoring = 0;
  const prepare = async (site: Site) => {
    await seedWithFolder(site);
    await site.start({ isRecorded: false });
    const book = new Book({});
    const clients = fewClients(play.seed);
    await site.load(book, clients, play.changes / 8);
    await saveBackup(site.server.url, join(site.root, BACKUPS, 'kept'), PASSPHRASE);
    writeFileSync(join(site.root, BACKUPS, 'passphrase'), PASSPHRASE, { mode: 0o600 });
    const line = site.connect();
    await line.send({ path: '/api/admin/keys/rotate', body: {} });
    line.close();
    await site.load(book, clients, play.changes / 8);
    old = (await site.takeInventory()).values;
    await site.stop('SIGKILL');
    rmSync(join(site.data, 'berth.db-shm'), { force: true });
  };
  const recording = await record(play, { prepare }, async (site) => {
    const within = (name: string) => join(site.root, BACKUPS, name);
    restoring = await site.run('restore', within('kept'), '--passphrase-file', within('passphrase'));
    await site.start();
    const book = new Book((await site.takeInventory()).values);
    await site.load(book, [lend(5, play.seed + 5), count(6, play.seed + 6)], 10);
    return book;
  });
  const answered = findAnswer(recording.record, restoring);
  const expectAt = (cut: number) => {
    const restored = recording.expectAt(cut) ?? [];
    return cut <= answered ? [expectAll(old), ...restored] : restored;
  };
  return { ...recording, expectAt };
}
