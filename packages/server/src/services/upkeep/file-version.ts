import { stat } from 'node:fs/promises';

/**
 * Tells one version of a file from another: another file under the same name is another version, even if it
 * has the same size and time. One that is not there is a version, too.
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
