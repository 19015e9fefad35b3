import { statfs } from 'node:fs/promises';

interface DiskSpace {
  /** What this process may still write. */
  readonly freeMegabytes: number;
  readonly totalMegabytes: number;
}

const MEGABYTE = 1024 * 1024;

/** The disk of a folder; `null` if the system does not say. */
export async function findDiskSpace(folder: string): Promise<DiskSpace | null> {
  try {
    const { bavail, blocks, bsize } = await statfs(folder);
    return {
      freeMegabytes: Math.floor((bavail * bsize) / MEGABYTE),
      totalMegabytes: Math.floor((blocks * bsize) / MEGABYTE),
    };
  } catch {
    return null;
  }
}
