/** The folder is not usable. The message is for users. */
export class DataFolderError extends Error {}

/** Never silently replaced: deployed servers trust only the old key. */
export function missingKey(name: string, file: string): DataFolderError {
  return new DataFolderError(
    `The ${name} key ${file} is missing. Restore it from a backup: servers trust no other key.`,
  );
}
