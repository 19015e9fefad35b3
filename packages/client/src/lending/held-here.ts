import type { Environment } from '../environment.ts';
import { BerthError } from '../errors.ts';

const held = new WeakMap<Environment, Set<string>>();

/**
 * A user has one slot of a license, however often it is asked for. If one program had it twice, the first
 * return would take it from the other.
 */
export function holdHere(environment: Environment, name: string): () => void {
  const names = held.get(environment) ?? new Set();
  held.set(environment, names);
  if (names.has(name))
    throw new BerthError('slot_in_use_here', `This program already has a slot for ${name}.`);
  names.add(name);
  return () => names.delete(name);
}
