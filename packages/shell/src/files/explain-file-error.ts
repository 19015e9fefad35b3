/** Explains why a file cannot be read or written, and names its path. */
export function explainFileError(file: string, error: unknown, doing: 'read' | 'written'): string {
  const { code, message } = error as { readonly code?: string; readonly message: string };
  switch (code) {
    case 'ENOENT':
      return doing === 'read'
        ? `The file ${file} does not exist.`
        : `${file} cannot be written: its folder does not exist. Create the folder, or choose another one.`;
    case 'EISDIR':
      return `${file} is a folder. Give the path of a file.`;
    case 'ENOTDIR':
      return `${file} cannot be ${doing}: part of its path is a file, not a folder.`;
    case 'EACCES':
    case 'EPERM':
      return `${file} cannot be ${doing}: the user that runs this command lacks permission.`;
    case 'EROFS':
      return `${file} cannot be ${doing}: its disk is mounted read-only.`;
    case 'ENOSPC':
      return `${file} cannot be ${doing}: its disk is full.`;
    default:
      return `${file} cannot be ${doing}: ${message}.`;
  }
}
