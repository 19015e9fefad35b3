import type { Environment } from '../environment.ts';
import { BerthError } from '../errors.ts';
import type { StoredRecord } from './borrow-record.ts';

/** A slot that this program holds. */
interface Holder {
  /** `wasReturned`: the server has got back the slot of the borrow. */
  endWith(borrow: StoredRecord, wasReturned: boolean): Promise<unknown>;
}

interface Place {
  holder: Holder | null;
  readonly letGo: () => void;
}

interface Held {
  readonly places: Map<string, Place>;
  /** How often each borrow was given back, by its name in the storage. */
  readonly returns: Map<string, number>;
}

const held = new WeakMap<Environment, Held>();

/**
 * A user has one slot of a license, however often it is asked for. If one program had it twice, the first
 * return would take it from the other. @internal
 */
export function holdHere(environment: Environment, owner: { user: string; product: string }): Place {
  const { places } = heldIn(environment);
  const name = describe(owner);
  if (places.has(name))
    throw new BerthError('slot_in_use_here', `This program already has a slot for ${name}.`);
  const place = { holder: null, letGo: () => void places.delete(name) };
  places.set(name, place);
  return place;
}

/** The slot and all objects of a borrow are the same to the server, so they end together. @internal */
export async function endHere(environment: Environment, borrow: StoredRecord, wasReturned: boolean) {
  const { places, returns } = heldIn(environment);
  returns.set(borrow.name, countReturns(environment, borrow.name) + 1);
  await places.get(describe(borrow.record))?.holder?.endWith(borrow, wasReturned);
}

/** @internal */
export function countReturns(environment: Environment, name: string): number {
  return heldIn(environment).returns.get(name) ?? 0;
}

function heldIn(environment: Environment): Held {
  const known = held.get(environment) ?? { places: new Map(), returns: new Map() };
  held.set(environment, known);
  return known;
}

function describe({ user, product }: { user: string; product: string }): string {
  return `"${user}" of "${product}"`;
}
