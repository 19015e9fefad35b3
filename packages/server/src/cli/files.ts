import { readFileSync } from 'node:fs';
import { explainFileError } from '@berth/shell/files/explain-file-error';
import { InputError } from './read-secrets.ts';

/** Throws an explanation of a system error. */
export function cannot(what: 'read' | 'written', file: string): (error: unknown) => never {
  return (error) => {
    throw new InputError(explainFileError(file, error, what));
  };
}

export function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    return cannot('read', file)(error);
  }
}
