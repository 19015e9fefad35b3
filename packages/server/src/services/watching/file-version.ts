import { stat } from 'node:fs/promises';

/**
 * Identifies a version of a file: another file with the same name is another version, even with the same size
 * and time. A missing file is a version, too.
 */
export async function readFileVersion(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join('/');
  } catch (error) {
    return errorCode(error);
  }
}

export function errorCode(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error);
}
