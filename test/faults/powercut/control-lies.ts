import { pickNumber, pickOne, type Random } from '../../support/random.ts';
import type { Happening } from './record.ts';

/** What a disk that lies would have made of what was done to it up to a cut. */
export type Lie = (done: readonly Happening[], random: Random) => readonly Happening[];

/** It says that it has synced, and has not. */
export const ignoreSyncs: Lie = (done) => done.filter(({ kind }) => kind !== 'sync');

const LATEST_WRITES = 30;

/** It loses one of the latest writes of the busiest file, although they were synced. */
export const dropSynced: Lie = (done, random) => {
  const inode = findBusiest(done);
  const [lastSync = 0] = listSyncs(done, inode).slice(-LEAST);
  const synced = [...done.keys()].slice(0, lastSync).filter((position) => isWriteTo(done[position], inode));
  const dropped = pickOne(random, synced.slice(-LATEST_WRITES));
  return done.filter((_, position) => position !== dropped);
};

/** The last sync may be of changes that are not acknowledged yet. */
const LEAST = 2;
const MOST = 4;

/** One of the latest syncs has failed, and the server was not told. */
export const hideFailure: Lie = (done, random) => {
  const inode = findBusiest(done);
  const failed = listSyncs(done, inode).at(-pickNumber(random, { from: LEAST, to: MOST }));
  return done.map((one, position) => (position === failed ? { kind: 'sync', inode, hasFailed: true } : one));
};

function listSyncs(done: readonly Happening[], inode: number): readonly number[] {
  return [...done.keys()].filter((position) => {
    const one = done[position];
    return one?.kind === 'sync' && one.inode === inode;
  });
}

function isWriteTo(one: Happening | undefined, inode: number): boolean {
  return one?.kind === 'write' && one.inode === inode;
}

/** The write-ahead log: everything that is acknowledged is written there first. */
function findBusiest(done: readonly Happening[]): number {
  const writes = new Map<number, number>();
  for (const one of done) if (one.kind === 'write') writes.set(one.inode, (writes.get(one.inode) ?? 0) + 1);
  return [...writes].reduce((most, one) => (one[1] > most[1] ? one : most), [0, 0])[0];
}
