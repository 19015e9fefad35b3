import type { Environment } from '../environment.ts';
import { BerthError } from '../errors.ts';

const held = new WeakMap<Environment, Set<string>>();

/**
 * A user has one slot of a license, however often it is asked for. Two slots of the same user in one program
 * would be the same one, and the first to return it would take it from the other.
 */
export function holdHere(environment: Environment, name: string): () => void {
  const names = held.get(environment) ?? new Set();
  held.set(environment, names);
  if (names.has(name))
    throw new BerthError('slot_in_use_here', `This program already has a slot for ${name}.`);
  names.add(name);
  return () => names.delete(name);
}
