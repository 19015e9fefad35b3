import { renameSync, rmSync, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFolder } from '@berth/shell/files/durable-file';
import { explainFileError } from '@berth/shell/files/explain-file-error';
import type { EventReceiver, SentEvent } from './event-receiver.ts';

interface EventsFileOptions {
  readonly path: string;
  /** A file that has grown to this size is put aside. */
  readonly maxBytes: number;
  /** How many files are kept besides the current one. */
  readonly kept: number;
  /** The event with the names and dates of the API. */
  readonly present: (event: SentEvent) => Readonly<Record<string, unknown>>;
}

/** How many events are written and synced together. */
const MOST = 500;

const NEWLINE = 0x0a;

/** A file with an event in each line, as JSON. It is opened anew each time, so others may move it away. */
export function createEventsFile({ path, maxBytes, kept, present }: EventsFileOptions): EventReceiver {
  const format = (event: SentEvent) =>
    `${JSON.stringify({ id: event.id, kind: event.event.kind, ...present(event) })}\n`;
  return {
    most: MOST,
    async send(events) {
      try {
        // If this fails, nothing has been written yet.
        if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) >= maxBytes) putAside(path, kept);
        await append(path, events.map(format).join(''));
        return { kind: 'delivered' };
      } catch (error) {
        return { kind: 'failed', reason: explainFileError(path, error, 'written') };
      }
    },
  };
}

async function append(path: string, text: string): Promise<void> {
  const file = await open(path, 'a+', 0o600);
  try {
    const { size } = await file.stat();
    await file.appendFile((await endsLine(file, size)) ? text : `\n${text}`);
    await file.datasync();
    if (size === 0) syncFolder(dirname(path));
  } finally {
    await file.close();
  }
}

/** A crash may have cut the last line; the event is written again. */
async function endsLine(file: FileHandle, size: number): Promise<boolean> {
  if (size === 0) return true;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] === NEWLINE;
}

/** `events.json` becomes `events.json.1`, which becomes `events.json.2`; the last one goes. */
function putAside(path: string, kept: number): void {
  rmSync(`${path}.${kept}`, { force: true });
  for (let n = kept - 1; n >= 1; n--) moveIfThere(`${path}.${n}`, `${path}.${n + 1}`);
  if (kept > 0) moveIfThere(path, `${path}.1`);
  else rmSync(path);
  syncFolder(dirname(path));
}

function moveIfThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
