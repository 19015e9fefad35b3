import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../clock.ts';
import { SqliteWriter } from '../write/writer.ts';
import { type PackedCommands, unpackCommands } from './packed-commands.ts';
import { ResultPacker } from './packed-results.ts';
import type { FromWriter, ThreadData, ToWriter } from './thread-messages.ts';

const port = parentPort as MessagePort;

function send(message: FromWriter): void {
  port.postMessage(message);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function openWriter(): SqliteWriter | null {
  try {
    return new SqliteWriter({ ...(workerData as ThreadData), clock: systemClock });
  } catch (error) {
    send({ kind: 'failed_to_open', message: messageOf(error) });
    return null;
  }
}

function execute(writer: SqliteWriter, packer: ResultPacker, commands: PackedCommands): void {
  try {
    const { results, ...rest } = writer.executeBatch(unpackCommands(commands));
    send({ kind: 'executed', results: packer.pack(results), ...rest });
  } catch (error) {
    send({ kind: 'batch_failed', message: messageOf(error) });
  }
}

function keepClock(writer: SqliteWriter): void {
  try {
    const { notices, ...status } = writer.keepClock();
    send({ kind: 'clock', status, notices });
  } catch (error) {
    send({ kind: 'clock_failed', message: messageOf(error) });
  }
}

function close(writer: SqliteWriter): void {
  try {
    writer.close();
  } catch {
    // Everything that was acknowledged is on disk; the next start makes up for the rest.
  }
  send({ kind: 'closed' });
  port.close();
}

function isBatch(message: ToWriter): message is PackedCommands {
  return Array.isArray(message);
}

function work(writer: SqliteWriter): void {
  const packer = new ResultPacker((id) => writer.findLicense(id));
  port.on('message', (message: ToWriter) => {
    if (isBatch(message)) execute(writer, packer, message);
    else if (message.kind === 'keep_clock') keepClock(writer);
    else close(writer);
  });
  send({ kind: 'ready' });
}

const writer = openWriter();
if (writer !== null) work(writer);
