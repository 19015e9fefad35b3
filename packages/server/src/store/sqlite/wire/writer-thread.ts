import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import type { Command } from '../../../core/command.ts';
import { systemClock } from '../../clock.ts';
import { SqliteWriter } from '../write/writer.ts';
import { type FromWriter, ResultPacker, type ThreadData, type ToWriter } from './thread-messages.ts';

/** A batch of this size takes no further message, so that its first command does not wait for ever. */
const MAX_BATCH = 512;

const port = parentPort as MessagePort;
const packer = new ResultPacker();
const inbox: ToWriter[] = [];

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

/** Fetches messages that arrived while the last batch was being synced. */
function fillInbox(): void {
  for (;;) {
    const received = receiveMessageOnPort(port);
    if (received === undefined) return;
    inbox.push(received.message as ToWriter);
  }
}

/** Takes commands from the front of the inbox, from as many messages as fit into a batch. */
function takeCommands(): readonly Command[] {
  const commands: Command[] = [];
  while (inbox[0]?.kind === 'execute' && commands.length < MAX_BATCH) {
    commands.push(...inbox[0].commands);
    inbox.shift();
  }
  return commands;
}

function execute(writer: SqliteWriter, commands: readonly Command[]): void {
  try {
    const { results, ...rest } = writer.executeBatch(commands);
    send({ kind: 'executed', ...packer.pack(results), ...rest });
  } catch (error) {
    send({ kind: 'batch_failed', count: commands.length, message: messageOf(error) });
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

function work(writer: SqliteWriter): void {
  for (fillInbox(); inbox.length > 0; fillInbox()) {
    const commands = takeCommands();
    if (commands.length > 0) {
      execute(writer, commands);
      continue;
    }
    const message = inbox.shift();
    if (message?.kind === 'keep_clock') keepClock(writer);
    if (message?.kind === 'close') close(writer);
  }
}

const writer = openWriter();
if (writer !== null) {
  port.on('message', (message: ToWriter) => {
    inbox.push(message);
    work(writer);
  });
  send({ kind: 'ready' });
}
