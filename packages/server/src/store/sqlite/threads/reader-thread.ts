import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { type ReaderOptions, SqliteReader } from '../read/reader.ts';
import type { FromReader, ToReader } from './thread-messages.ts';

const port = parentPort as MessagePort;
let reader: SqliteReader | null = null;

/** Opens the file for the first question: until the writing thread has created it, there may be none. */
function answer({ id, query, now, masterKeys }: ToReader): FromReader {
  try {
    if (reader?.isFrozen) close();
    reader ??= new SqliteReader(workerData as ReaderOptions);
    return { id, answer: reader.answer(query, now, masterKeys) };
  } catch (error) {
    return { id, message: error instanceof Error ? error.message : String(error) };
  }
}

function close(): void {
  reader?.close();
  reader = null;
}

port.on('message', (message: ToReader | 'close') => {
  if (message !== 'close') return port.postMessage(answer(message));
  close();
  port.close();
});
