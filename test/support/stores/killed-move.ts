import { moveStore } from '../../../packages/server/src/services/backups/move-store.ts';
import { openPostgresSource } from '../../../packages/server/src/store/postgres/move/postgres-source.ts';
import { openPostgresTarget } from '../../../packages/server/src/store/postgres/move/postgres-target.ts';
import { openSqliteSource } from '../../../packages/server/src/store/sqlite/move/sqlite-source.ts';
import { openSqliteTarget } from '../../../packages/server/src/store/sqlite/move/sqlite-target.ts';
import type { StoreSource, StoreTarget } from '../../../packages/server/src/store/store-copy.ts';

/**
 * A process that moves a store and kills itself: `DIRECTION FOLDER URL MOMENT`. The moment is the table being
 * written, `verify` or `commit`.
 */
const [direction, folder = '', url = '', moment] = process.argv.slice(2);
const masterKey = { value: process.env.BERTH_MASTER_KEY ?? '', file: '' };
const database = { url, masterKey, prepareStatements: true };

function die(): Promise<never> {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => {});
}

function dieAt(target: StoreTarget): StoreTarget {
  return {
    place: target.place,
    identity: target.identity,
    addRows: async (table, rows) => {
      await target.addRows(table, rows);
      if (table === moment) await die();
    },
    anchorChains: () => target.anchorChains(),
    verifyAudit: () => (moment === 'verify' ? die() : target.verifyAudit()),
    countRows: () => target.countRows(),
    readHead: () => target.readHead(),
    commit: async () => {
      await target.commit();
      if (moment === 'commit') await die();
    },
    close: () => target.close(),
  };
}

const [source, target] =
  direction === 'to-postgres'
    ? [await openSqliteSource({ folder, masterKey }), await openPostgresTarget(database)]
    : [await openPostgresSource(database), openSqliteTarget({ folder, masterKey })];
await moveStore(source as StoreSource, dieAt(target));
