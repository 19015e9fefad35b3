import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { MasterKey } from '../../../src/secrets/seal.ts';
import { exerciseStore } from '../exam/exercise-store.ts';
import { expectSoundFile, openQuickly } from '../exam/sqlite-file.ts';

const masterKey = randomBytes(32) as Uint8Array as MasterKey;

exerciseStore(
  'the SQLite store without threads',
  async ({ folder, ...options }) => openQuickly({ file: join(folder, 'berth.db'), masterKey, ...options }),
  { servers: 'alone', inspect: expectSoundFile },
);
