/** Why a file that somebody named cannot be read or written, in a sentence or two with its path. */
export function explainFileError(file: string, error: unknown, doing: 'read' | 'written'): string {
  const { code, message } = error as { readonly code?: string; readonly message: string };
  switch (code) {
    case 'ENOENT':
      return doing === 'read'
        ? `There is no file ${file}.`
        : `${file} cannot be written: its folder does not exist. Create the folder, or name another one.`;
    case 'EISDIR':
      return `${file} is a folder. Name the file in it.`;
    case 'ENOTDIR':
      return `${file} cannot be ${doing}: a part of its path is a file, not a folder.`;
    case 'EACCES':
    case 'EPERM':
      return `${file} cannot be ${doing}: the account that runs this command lacks the permission.`;
    case 'EROFS':
      return `${file} cannot be ${doing}: its disk is mounted read-only.`;
    case 'ENOSPC':
      return `${file} cannot be ${doing}: its disk is full.`;
    default:
      return `${file} cannot be ${doing}: ${message}.`;
  }
}
