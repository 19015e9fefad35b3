import { after, test } from 'node:test';
import { hasPostgres, sharedPostgres } from '../../../../../test/support/stores/postgres.ts';
import { reuseDatabase } from '../../../../../test/support/stores/reused-database.ts';
import { exerciseStore } from '../exam/exercise-store.ts';
import { closeKept, openKept } from '../exam/kept-connections.ts';
import { expectSoundDatabase, openExamined } from '../exam/postgres-database.ts';

after(closeKept);
const shared = sharedPostgres();
// The cases run one after the other, and leave no connection open.
const takeDatabase = reuseDatabase(async () => (await shared()).createDatabase('tables'));

if (hasPostgres) {
  exerciseStore(
    'the PostgreSQL store',
    (options) => openExamined(options, takeDatabase, undefined, openKept),
    {
      servers: 'several',
      inspect: expectSoundDatabase,
    },
  );
} else {
  test('the PostgreSQL store', (t) => t.skip('optional: needs PostgreSQL for this platform'));
}
