import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { MasterKey } from '../../secrets/seal.ts';
import { exerciseStore } from '../exam/exercise-store.ts';
import { expectSoundFile } from '../exam/sqlite-file.ts';
import { openInThreadStore } from './in-thread-store.ts';

const masterKey = randomBytes(32) as Uint8Array as MasterKey;

exerciseStore(
  'the SQLite store without threads',
  async ({ folder, ...options }) =>
    openInThreadStore({ file: join(folder, 'berth.db'), masterKey, ...options }),
  { servers: 'alone', inspect: expectSoundFile },
);
