import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { SqliteReader } from './reader.ts';
import type { FromReader, ThreadData, ToReader } from './thread-messages.ts';

const port = parentPort as MessagePort;
const reader = new SqliteReader(workerData as ThreadData);

function answer({ id, query, now }: ToReader): FromReader {
  try {
    return { id, answer: reader.answer(query, now) };
  } catch (error) {
    return { id, message: error instanceof Error ? error.message : String(error) };
  }
}

port.on('message', (message: ToReader | 'close') => {
  if (message !== 'close') return port.postMessage(answer(message));
  reader.close();
  port.close();
});
