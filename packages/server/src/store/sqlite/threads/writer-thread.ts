import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { Command } from '../../../core/command.ts';
import { SECOND_MS } from '../../../core/nouns/instant.ts';
import type { StoreNotice } from '../../../core/nouns/store-notice.ts';
import { SealError } from '../../../secrets/seal.ts';
import { systemClock } from '../../clock.ts';
import { DiskFull } from '../wire/disk-full.ts';
import { lookInto } from '../wire/look-into.ts';
import { SqliteWriter } from '../write/writer.ts';
import { type SentCommand, unpackCommand } from './sent-commands.ts';
import { ResultSender } from './sent-results.ts';
import type { FromWriter, ThreadData, ToWriter } from './thread-messages.ts';

const port = parentPort as MessagePort;
const data = workerData as ThreadData;

/** How often a file on a full disk is opened again, at most. */
const REOPEN_INTERVAL_MS = SECOND_MS;

function send(message: FromWriter): void {
  port.postMessage(JSON.stringify(message));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** `null`: it has not been opened yet. */
let writer: SqliteWriter | null = null;
let openedMs = 0;
/** What to tell besides what the writer does. */
let notices: StoreNotice[] = [];
const sender = new ResultSender();

function open(): SqliteWriter {
  openedMs = systemClock.readMonotonicMs();
  return new SqliteWriter({ ...data, clock: systemClock });
}

function start(): FromWriter {
  try {
    writer = open();
    return { kind: 'ready' };
  } catch (error) {
    return (error instanceof DiskFull && readyToRead(error)) || failedToOpen(error);
  }
}

function failedToOpen(error: unknown): FromWriter {
  return { kind: 'failed_to_open', message: messageOf(error) };
}

/** With a full disk, all that needs no room works. */
function readyToRead({ message }: DiskFull): FromWriter | null {
  const { file, masterKey, nextMasterKey = null } = data;
  try {
    const now = lookInto(file, nextMasterKey === null ? [masterKey] : [masterKey, nextMasterKey]);
    return now === null ? null : { kind: 'ready_to_read', message, now };
  } catch (error) {
    return error instanceof SealError ? failedToOpen(error) : null;
  }
}

function getWriter(): SqliteWriter {
  if (writer !== null) return writer;
  if (systemClock.readMonotonicMs() - openedMs < REOPEN_INTERVAL_MS) throw new Error('The disk is full.');
  writer = open();
  notices = [{ kind: 'store_recovered' }];
  return writer;
}

function takeNotices(): readonly StoreNotice[] {
  const taken = notices;
  notices = [];
  return taken;
}

function execute(commands: readonly Command[]): FromWriter {
  try {
    const { results, now, syncMs, notices: own, turns } = getWriter().executeBatch(commands);
    const sent = results.map((result) => sender.send(result));
    const news = { notices: [...takeNotices(), ...own], ...(turns.length === 0 ? {} : { turns }) };
    return { kind: 'executed', results: sent, now, syncMs, ...news };
  } catch (error) {
    return { kind: 'batch_failed', message: messageOf(error) };
  }
}

function keepClock(): FromWriter {
  try {
    const { notices: own, ...status } = getWriter().keepClock();
    return { kind: 'clock', status, notices: [...takeNotices(), ...own] };
  } catch (error) {
    return { kind: 'clock_failed', message: messageOf(error) };
  }
}

function close(): void {
  try {
    writer?.close();
  } catch {
    // Everything that was acknowledged is on disk; the next start makes up for the rest.
  }
  send({ kind: 'closed' });
  port.close();
}

function isBatch(message: ToWriter): message is readonly SentCommand[] {
  return Array.isArray(message);
}

function work(): void {
  port.on('message', (sent: string | ToWriter) => {
    const message: ToWriter = typeof sent === 'string' ? JSON.parse(sent) : sent;
    if (isBatch(message)) send(execute(message.map(unpackCommand)));
    else if (message.kind === 'keep_clock') send(keepClock());
    else if (message.kind === 'list_waiting')
      send({ kind: 'waiting', line: writer?.listWaiting(message.products) ?? null });
    else close();
  });
}

const started = start();
if (started.kind !== 'failed_to_open') work();
send(started);
