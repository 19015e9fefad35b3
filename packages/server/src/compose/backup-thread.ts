import fs from 'node:fs';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { BackupFacts } from '@berth/shell/files/backup-file';
import { type BackupTask, makeBackup } from './make-backup.ts';
import { stepBack } from './step-back.ts';

/** What the thread reports before it ends. */
export type BackupResult =
  | { readonly kind: 'made'; readonly facts: BackupFacts }
  | { readonly kind: 'failed'; readonly message: string };

/** How many megabytes may wait to be written to the disk: others' syncs wait for all of them. */
const UNSYNCED_STEPS = 4;
const REST_MS = 5;

function createPause(file: string): () => void {
  const bell = new Int32Array(new SharedArrayBuffer(4));
  let steps = 0;
  return () => {
    steps += 1;
    if (steps % UNSYNCED_STEPS === 0) sync(file);
    Atomics.wait(bell, 0, 0, REST_MS);
  };
}

function sync(file: string): void {
  const handle = fs.openSync(file, 'r+');
  try {
    fs.fdatasyncSync(handle);
  } finally {
    fs.closeSync(handle);
  }
}

const port = parentPort as MessagePort;
const tell = (result: BackupResult) => port.postMessage(result);
const task = workerData as BackupTask;
stepBack();
makeBackup(task, createPause(task.order.to)).then(
  (facts) => tell({ kind: 'made', facts }),
  (error: unknown) =>
    tell({ kind: 'failed', message: error instanceof Error ? error.message : String(error) }),
);
