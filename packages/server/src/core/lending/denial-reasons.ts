import { ERROR_CODES, ERRORS } from '@berth/protocol/errors';
import type { Command } from '../command.ts';

/** The codes with which a license denies a slot or consumption, and which the audit log counts. */
export const DENIAL_REASONS = ERROR_CODES.filter((code) => ERRORS[code].denial !== undefined);

const DENIABLE: ReadonlySet<Command['kind']> = new Set([
  'register',
  'borrow',
  'register_feature',
  'add_consumption',
]);

/** Whether the command asks for something of a license; giving it back is never denied. */
export function isDeniable({ kind }: Command): boolean {
  return DENIABLE.has(kind);
}
