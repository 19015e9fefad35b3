import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { syncFolder } from '@berth/shell/files/durable-file';
import { explainFileError } from '@berth/shell/files/explain-file-error';
import type { EventReceiver, SentEvent } from './event-receiver.ts';

interface EventsFileOptions {
  readonly path: string;
  /** A file that has grown to this size is put aside. */
  readonly maxBytes: number;
  /** How many files are kept besides the current one. */
  readonly kept: number;
  /** Ends deliveries when the server stops. */
  readonly signal: AbortSignal;
  /** The event as JSON, with the names and dates of the API. */
  readonly present: (event: SentEvent) => string;
}

/** How many events are written and synced together. */
const MOST = 500;

const NEWLINE = 0x0a;

/** A file with an event in each line, as JSON. It is opened anew each time, so others may move it away. */
export function createEventsFile(options: EventsFileOptions): EventReceiver {
  const { path, maxBytes, kept, signal, present } = options;
  return {
    most: MOST,
    async send(events) {
      if (signal.aborted) return { kind: 'stopping' };
      try {
        // If this fails, nothing has been written yet.
        if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) >= maxBytes) putAside(path, kept);
        await append(path, events.map((event) => `${present(event)}\n`).join(''));
        return { kind: 'delivered' };
      } catch (error) {
        return { kind: 'failed', reason: explainFileError(path, error, 'written').replace(/\.$/, '') };
      }
    },
  };
}

async function append(path: string, text: string): Promise<void> {
  const file = await open(path, 'a+', 0o600);
  try {
    const { size } = await file.stat();
    const line = (await endsLine(file, size)) ? text : `\n${text}`;
    await file.appendFile(line).catch(async (error) => {
      // It is all written again later; a full disk would only get fuller.
      await file.truncate(size);
      throw error;
    });
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

/**
 * `events.json` becomes `events.json.1`, which becomes `events.json.2`; those beyond `kept` go. It is moved
 * away first: if that is not possible, the others stay as they are.
 */
function putAside(path: string, kept: number): void {
  const aside = `${path}.aside`;
  // A crash may have left one.
  if (existsSync(aside)) takeIn(path, aside, kept);
  renameSync(path, aside);
  takeIn(path, aside, kept);
}

function takeIn(path: string, aside: string, kept: number): void {
  const folder = dirname(path);
  for (const name of readdirSync(folder)) {
    const number = name.startsWith(`${basename(path)}.`) ? name.slice(basename(path).length + 1) : '';
    if (/^[1-9]\d*$/.test(number) && Number(number) >= kept) rmSync(join(folder, name));
  }
  for (let n = kept - 1; n >= 1; n--) {
    if (existsSync(`${path}.${n}`)) renameSync(`${path}.${n}`, `${path}.${n + 1}`);
  }
  if (kept > 0) renameSync(aside, `${path}.1`);
  else rmSync(aside);
  syncFolder(folder);
}
