import { placeOf } from '@berth/protocol/address-range';
import type { Command, LicenseCommand, Target } from '../../../core/command.ts';
import { isLicenseCommand, moduleOf } from '../../../core/decide.ts';
import {
  canWait,
  isKept,
  isPresent,
  lenderOf,
  obstacleOf,
  type Place,
  priorityOf,
} from '../../../core/lending/waiting-line.ts';
import { addressOf } from '../../../core/nouns/actor.ts';
import { WHOLE_LICENSE } from '../../../core/nouns/consumption.ts';
import { withFoldedUser } from '../../../core/nouns/user-name.ts';
import type { Outcome, Refused } from '../../../core/outcome.ts';
import { type CountedAs, countAs, findCounting, isByPlace } from '../../../core/rules/judge-slot.ts';
import { personOf } from '../../../core/rules/rules.ts';
import type { Batch } from '../batch.ts';
import { executeCommand } from '../execute.ts';
import { clearLine } from './execute-on-line.ts';
import { recordWait } from './record-wait.ts';
import { canBeServed, describeRoom, findNextMinute, findRoom, type Room } from './room.ts';
import type { LineRow } from './waiting-line.ts';

/** Hands free slots to those who wait: before the first command of a batch, and after each. */
export function handOn(batch: Batch, command?: Command): void {
  const product = beginHandingOn(batch, command);
  for (let place = chooseNext(batch, product); place !== null; place = chooseNext(batch, product))
    serve(batch, place);
}

/**
 * A store that has to wait for rows calls the three steps itself. Returns the product whose slots the command
 * may have freed; `null`: any.
 */
export function beginHandingOn(batch: Batch, command?: Command): string | null {
  const { line } = batch;
  if (command !== undefined && isLicenseCommand(command) && moduleOf(command).isFromClients) {
    const product = productOf(batch, command);
    if (product !== null && !line.has(product)) return product;
    line.passedOver.clear();
    const { user } = (batch.ignoresCase ? withFoldedUser(command) : command) as { user?: string | null };
    for (const row of line.listRows(product)) {
      rank(batch, row);
      if (row.places.has(user ?? '')) row.futile = null;
    }
    return product;
  }
  line.passedOver.clear();
  const rows = line.listRows();
  for (const row of rows) rank(batch, row);
  if (command === undefined) return null;
  for (const row of rows) row.futile = null;
  for (const product of new Set(rows.map((row) => row.product))) clearLine(batch, product);
  return null;
}

/** What a client's command is about; `null`: it does not say. */
function productOf({ licenses }: Batch, command: LicenseCommand): string | null {
  const { product, licenseId } = command as Partial<Target>;
  if (product != null || licenseId == null) return product ?? null;
  return licenses.find(licenseId)?.license.product ?? null;
}

/** Those who wait are ranked by the rules of now, not of when they came. */
function rank(batch: Batch, row: LineRow): void {
  const { line, rules, now } = batch;
  const rankedBy = `${rules.revision} ${findNextMinute(batch, row.product)}`;
  if (row.rankedBy === rankedBy) return;
  for (const place of row.list()) {
    const priority = priorityOf(rules, row.product, place.command, now);
    if (priority !== place.priority) line.put({ ...place, priority });
  }
  row.rankedBy = rankedBy;
}

/** The first who can be served, for this product or any; `null`: nobody. */
export function chooseNext(batch: Batch, product: string | null): Place | null {
  if (product !== null && !batch.line.has(product)) return null;
  batch.savepoint.begin();
  for (const row of batch.line.listRows(product)) {
    const room = findRoom(batch, row);
    if (room.size === 0) continue;
    const described = describeRoom(batch, row, room);
    if (row.futile === described) continue;
    const place = chooseFirst(batch, row, room);
    if (place !== null) return place;
    row.futile = described;
  }
  return null;
}

/** The first by counts: with a thousand in line, one is decided about. */
function chooseFirst(batch: Batch, row: LineRow, room: Room): Place | null {
  const { line, now } = batch;
  let kept = 0;
  for (const place of row.list()) {
    if (place.lentBy !== null || isPassedOver(batch, place)) continue;
    if (isPresent(place, now, line.isAlive)) {
      if (canBeServed(place, room, kept)) return place;
    } else if (isKept(place, now)) kept += 1;
  }
  return null;
}

/** Decides the user's own command, in the transaction of the one that has freed the slot. */
export function serve(batch: Batch, place: Place): void {
  const { line } = batch;
  // A refusal is not carried out: whoever goes on waiting was not denied.
  const result = executeCommand(batch, place.command, isLent);
  const outcome = 'outcome' in result ? result.outcome : null;
  if (outcome?.kind === 'refused' && canWait(outcome)) {
    line.passedOver.add(nameAlike(batch, place, outcome));
    noteObstacle(batch, place, outcome);
    return;
  }
  // Their own request answers, also if it is refused now or fails.
  const lentBy = outcome === null ? null : lenderOf(outcome);
  recordWait(batch, place, lentBy);
  if (lentBy === null) line.remove(place);
  else line.put({ ...place, lentBy });
  line.call(place);
  // Who waits for a feature may have the slot now that it needs, or may have lost it.
  for (const row of line.listRows(place.product)) row.futile = null;
}

/** A place that stays as it is need not be written. */
function noteObstacle({ line }: Batch, place: Place, refusal: Refused): void {
  const { why, rule } = obstacleOf(refusal);
  if (why !== place.why || rule !== place.rule) line.put({ ...place, why, rule });
}

function isLent(outcome: Outcome): boolean {
  return outcome.kind !== 'refused';
}

/** All in the row whom the same refusal would meet are passed over with the first of them. */
function nameAlike(batch: Batch, place: Place, { code, details: { rule } }: Refused): string {
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

function isPassedOver(batch: Batch, place: Place): boolean {
  const { passedOver } = batch.line;
  if (passedOver.size === 0) return false;
  const isNamed = (name: string) => passedOver.has(inRow(place, name));
  const address = addressOf(place.command.by);
  if (isNamed(`user ${place.user}`)) return true;
  if (address !== null && isNamed(`address ${placeOf(address)}`)) return true;
  const as = countedAs(batch, place);
  return as !== null && (isNamed(`groups ${as.groups}`) || isNamed(nameCounted(as)));
}
