import { placeOf } from '@berth/protocol/address-range';
import { countedPerson } from '../../../core/lending/count-slots.ts';
import {
  isKept,
  isPresent,
  lenderOf,
  type Place,
  type Waitable,
} from '../../../core/lending/waiting-line.ts';
import { addressOf } from '../../../core/nouns/actor.ts';
import { WHOLE_LICENSE } from '../../../core/nouns/consumption.ts';
import type { LicenseId } from '../../../core/nouns/license.ts';
import type { Outcome, Refused } from '../../../core/outcome.ts';
import type { Person } from '../../../core/rules/groups.ts';
import { type CountedAs, countAs, findCounting, isByPlace } from '../../../core/rules/judge-slot.ts';
import { personOf } from '../../../core/rules/rules.ts';
import type { Batch } from '../batch.ts';
import { findRegistration } from '../load/load-view.ts';
import type { Kept } from '../load/read-holdings.ts';
import { canBeServed, type Room } from './room.ts';
import type { LineRow } from './waiting-line.ts';

/** Decides about a request and writes nothing; `null`: it fails. */
export type TryOut = (batch: Batch, command: Waitable, kept: Kept) => Outcome | null;

/** More are not tried at a time, and are kept nothing. Most who are refused are alike, and tried once. */
const MAX_REFUSED = 100;

/**
 * Goes along the line to the first who `isNext`, by the room that is left and those who were refused. Whoever
 * comes before, repeats the call and could be served now is kept a slot, beside what is kept already.
 */
export function goAlong(
  batch: Batch,
  row: LineRow,
  room: Room,
  tryOut: TryOut,
  isNext: (place: Place, left: Room, refused: ReadonlySet<string>) => boolean,
): { readonly next: Place | null; readonly kept: Kept } {
  const { line, now } = batch;
  const left = new Map(room);
  const refused = new Set<string>();
  const people = new Map<LicenseId, readonly Person[]>();
  const kept = { feature: row.feature, people };
  for (const place of row.list()) {
    if (left.size === 0) break;
    if (place.lentBy !== null) continue;
    if (isNext(place, left, refused)) return { next: place, kept };
    const repeats = isKept(place, now) && !isPresent(place, now, line.isAlive);
    if (!repeats || refused.size >= MAX_REFUSED || !canBeServed(place, left)) continue;
    if (isPassedOver(batch, place, refused)) continue;
    const outcome = tryOut(batch, place.command, kept);
    const lender = outcome === null ? null : lenderOf(outcome);
    if (lender === null) refused.add(nameAlike(batch, place, outcome?.kind === 'refused' ? outcome : null));
    else {
      people.set(lender, [...(people.get(lender) ?? []), findPerson(batch, place, lender)]);
      const count = (left.get(lender) ?? 0) - 1;
      if (count > 0) left.set(lender, count);
      else left.delete(lender);
    }
  }
  return { next: null, kept };
}

/** A feature slot is counted like its holder's slot. */
function findPerson({ statements }: Batch, { feature, command }: Place, lender: LicenseId): Person {
  const holder = feature === WHOLE_LICENSE ? null : findRegistration(statements, lender, command.user);
  return holder === null ? personOf(command) : countedPerson(holder);
}

/** All in the row whom the same refusal would meet are passed over with the first; `null`: an error. */
export function nameAlike(batch: Batch, place: Place, refusal: Refused | null): string {
  const { code, details: { rule } = {} } = refusal ?? {};
  const address = code === 'address_limit_reached' ? addressOf(place.command.by) : null;
  if (address !== null) return inRow(place, `address ${placeOf(address)}`);
  const as = typeof rule === 'string' ? countedAs(batch, place) : null;
  if (as === null) return inRow(place, `user ${place.user}`);
  return inRow(place, isByPlace(rule as string) ? nameCounted(as) : `groups ${as.groups}`);
}

function inRow({ product, feature }: Place, name: string): string {
  return `${product}\n${feature}\n${name}`;
}

function nameCounted({ groups, host, address }: CountedAs): string {
  return `counted ${JSON.stringify([groups, host, address])}`;
}

/** What a slot would count as; `null`: the rules do not count it, or like that of the license. */
function countedAs({ rules: { set } }: Batch, { product, feature, command }: Place): CountedAs | null {
  const own = feature === WHOLE_LICENSE ? findCounting(set, product, null) : null;
  return own === null ? null : countAs(set, own, personOf(command));
}

export function isPassedOver(batch: Batch, place: Place, passedOver: ReadonlySet<string>): boolean {
  if (passedOver.size === 0) return false;
  const isNamed = (name: string) => passedOver.has(inRow(place, name));
  const address = addressOf(place.command.by);
  if (isNamed(`user ${place.user}`)) return true;
  if (address !== null && isNamed(`address ${placeOf(address)}`)) return true;
  const as = countedAs(batch, place);
  return as !== null && (isNamed(`groups ${as.groups}`) || isNamed(nameCounted(as)));
}
