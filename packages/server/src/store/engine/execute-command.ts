import type { Command } from '../../core/command.ts';
import { isLicenseCommand } from '../../core/decide.ts';
import { withIdentity } from '../../core/nouns/user-name.ts';
import type { Executed } from '../store.ts';
import type { Batch, Undo } from './batch.ts';
import { executeOnLicense } from './execute-on-license.ts';
import { executeSystem } from './execute-system.ts';

/** The outcome of a command, or an error that concerns it alone. */
export type CommandResult = { readonly outcome: Executed } | { readonly error: unknown };

/** Decides a command and writes what was decided. A command that throws is undone, and fails alone. */
export function executeCommand(batch: Batch, command: Command): CommandResult {
  const undo: Undo[] = [];
  batch.savepoint.begin();
  try {
    const outcome = dispatch(batch, withIdentity(command, batch.ignoresCase), undo);
    batch.savepoint.release();
    return { outcome };
  } catch (error) {
    if (batch.savepoint.concernsAll(error)) throw error;
    batch.savepoint.rollBack();
    for (const step of undo.reverse()) step();
    if (error instanceof MissingRows) throw error;
    return { error };
  }
}

/** Rows of a remote database are not loaded yet. The command is undone, and tried again when they are. */
export class MissingRows extends Error {
  override readonly name = 'MissingRows';
}

function dispatch(batch: Batch, command: Command, undo: Undo[]): Executed {
  return isLicenseCommand(command)
    ? executeOnLicense(batch, command, undo)
    : executeSystem(batch, command, undo);
}
