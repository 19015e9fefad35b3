import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { licenseId } from '@berth/server/core/nouns/license';
import type { MasterKey } from '@berth/server/secrets/seal';
import { ExamStore } from '../../packages/server/test/store/exam/exam-store.ts';
import { openKept } from '../../packages/server/test/store/exam/kept-connections.ts';
import {
  expectSoundDatabase,
  openExamined,
} from '../../packages/server/test/store/exam/postgres-database.ts';
import { expectSoundFile, openQuickly } from '../../packages/server/test/store/exam/sqlite-file.ts';
import { FEATURES, LIMITS } from './counting-model.ts';
import { FIRST_FACTS } from './licenses-model.ts';
import { ServerPair } from './server-pair.ts';

/** A store that lives through a history. */
export interface ModelStore {
  readonly name: string;
  readonly exam: ExamStore;
  /** Whether one server has the data alone, or several may have it together. */
  readonly servers: 'alone' | 'several';
  /** Turns to another server on the same data, if there can be one. */
  turn(): Promise<void>;
  /** Looks at the rows below the store. */
  inspect(): Promise<void>;
}

const masterKey = randomBytes(32) as Uint8Array as MasterKey;

export async function startSqlite(): Promise<ModelStore> {
  const exam = await addLicenses(await startEmptySqlite());
  return {
    name: 'SQLite',
    exam,
    servers: 'alone',
    turn: async () => {},
    inspect: () => expectSoundFile(exam.folder),
  };
}

/** `createDatabase`: an empty one, for this store alone. */
export async function startPostgresStore(createDatabase: () => Promise<string>): Promise<ModelStore> {
  let pair: ServerPair | undefined;
  const opened = await ExamStore.start(async (options) => {
    pair = await ServerPair.open(() => openExamined(options, createDatabase, undefined, openKept));
    return pair;
  });
  const exam = await addLicenses(opened);
  return {
    name: 'PostgreSQL',
    exam,
    servers: 'several',
    turn: async () => pair?.turn(),
    inspect: () => expectSoundDatabase(exam.folder),
  };
}

export function startEmptySqlite(): Promise<ExamStore> {
  return ExamStore.start(async ({ folder, clock, onNotice }) =>
    openQuickly({ file: join(folder, 'berth.db'), masterKey, clock, onNotice }),
  );
}

export function startEmptyPostgres(createDatabase: () => Promise<string>): Promise<ExamStore> {
  return ExamStore.start((options) => openExamined(options, createDatabase, undefined, openKept));
}

async function addLicenses(exam: ExamStore): Promise<ExamStore> {
  const facts = { consumption: LIMITS.license, features: FEATURES };
  for (const id of [1, 2, 3]) await exam.install({ id: licenseId(id), ...FIRST_FACTS[id], ...facts });
  return exam;
}
