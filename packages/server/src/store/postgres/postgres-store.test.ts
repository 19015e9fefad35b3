import { test } from 'node:test';
import { hasPostgres, sharedPostgres } from '../../../../../test/support/postgres.ts';
import { exerciseStore } from '../exercise-store.ts';
import { expectSoundDatabase, openExamined } from './exercise-database.ts';

const shared = sharedPostgres();

if (hasPostgres) {
  exerciseStore(
    'the PostgreSQL store',
    (options) => openExamined(options, async () => (await shared()).createDatabase()),
    { servers: 'several', inspect: expectSoundDatabase },
  );
} else {
  test('the PostgreSQL store', (t) => t.skip('optional: needs PostgreSQL for this platform'));
}
