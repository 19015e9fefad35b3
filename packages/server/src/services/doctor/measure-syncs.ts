import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';

const PROBE_FILE = 'berth.probe';
const PROBE_BYTES = 4096;
const MAX_SYNCS = 15;
/** A slow disk is known as such by then. */
const LONGEST_MS = 2000;

/** How long syncs of a small file in the folder take, one after the other; or why it cannot be written. */
export async function measureSyncs(
  folder: string,
  readMonotonicMs: () => number,
): Promise<readonly number[] | string> {
  const file = join(folder, PROBE_FILE);
  try {
    const handle = await open(file, 'w', 0o600);
    try {
      const startedMs = readMonotonicMs();
      const tookMs: number[] = [];
      while (tookMs.length < MAX_SYNCS && readMonotonicMs() - startedMs < LONGEST_MS) {
        await handle.write(Buffer.alloc(PROBE_BYTES, tookMs.length), 0, PROBE_BYTES, 0);
        const beforeMs = readMonotonicMs();
        await handle.datasync();
        tookMs.push(readMonotonicMs() - beforeMs);
      }
      return tookMs;
    } finally {
      await handle.close();
      await rm(file, { force: true });
    }
  } catch (error) {
    return `${(error as Error).message}.`;
  }
}
