import type { Command, LicenseCommand, Target } from '../../../core/command.ts';
import { isLicenseCommand, moduleOf } from '../../../core/decide.ts';
import {
  canWait,
  isGone,
  isLost,
  isPresent,
  lenderOf,
  obstacleOf,
  type Place,
  priorityOf,
} from '../../../core/lending/waiting-line.ts';
import type { LicenseId } from '../../../core/nouns/license.ts';
import { withFoldedUser } from '../../../core/nouns/user-name.ts';
import type { Outcome, Refused } from '../../../core/outcome.ts';
import { NO_RULES } from '../../../core/rules/rules.ts';
import type { Batch } from '../batch.ts';
import { executeCommand, prepareToTry, tryOut } from '../execute.ts';
import { clearLine } from './execute-on-line.ts';
import { giveBack } from './join-line.ts';
import { goAlong, isPassedOver, nameAlike } from './keep-slots.ts';
import { recordWait } from './record-wait.ts';
import { canBeServed, describeRoom, findNextMinute, findRoom, type Room } from './room.ts';
import type { LineRow } from './waiting-line.ts';

/** Hands free slots to those who wait: before the first command of a batch, and after each. */
export function handOn(batch: Batch, command?: Command): void {
  const product = beginHandingOn(batch, command);
  for (const tried of listTried(batch, product)) prepareToTry(batch, tried);
  for (let place = chooseNext(batch, product); place !== null; place = chooseNext(batch, product))
    serve(batch, place);
}

/**
 * A store that has to wait for rows calls the four steps itself. Returns the product whose slots the command
 * may have freed; `null`: any.
 */
export function beginHandingOn(batch: Batch, command?: Command): string | null {
  const { line, now } = batch;
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
  if (command === undefined) {
    line.lost = rows.flatMap((row) => row.list().filter((place) => isLost(place, now, line.isAlive)));
    return null;
  }
  for (const row of rows) row.futile = null;
  for (const product of new Set(rows.map((row) => row.product))) clearLine(batch, product);
  return null;
}

/** Of which products somebody may be tried out: their slots are counted before. */
export function listTried({ line, rules }: Batch, product: string | null): Iterable<string> {
  if (line.repeating === 0 || rules === NO_RULES) return [];
  return new Set(line.listRows(product).map((row) => row.product));
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

/** Whose slot is lost, or the first who can be served, for this product or any; `null`: nobody. */
export function chooseNext(batch: Batch, product: string | null): Place | null {
  const lost = batch.line.lost.pop();
  if (lost !== undefined) return lost;
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
  const isNext = (place: Place, left: Room, refused: ReadonlySet<string>) =>
    isPresent(place, now, line.isAlive) &&
    canBeServed(place, left) &&
    ![line.passedOver, refused].some((names) => isPassedOver(batch, place, names));
  return goAlong(batch, row, room, tryOut, isNext).next;
}

/** Decides the user's own command, in the transaction of the one that has freed the slot. */
export function serve(batch: Batch, place: Place): void {
  const { line } = batch;
  if (place.lentBy !== null) {
    takeBack(batch, place, place.lentBy);
    return;
  }
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

/** A slot that nobody will hear of is free. If their server is alive after all, they wait on. */
function takeBack(batch: Batch, place: Place, lender: LicenseId): void {
  const { line, now } = batch;
  executeCommand(batch, giveBack(place, lender, place));
  if (isGone(place, now)) line.remove(place);
  else line.put({ ...place, lentBy: null, since: now });
}

/** A place that stays as it is need not be written. */
function noteObstacle({ line }: Batch, place: Place, refusal: Refused): void {
  const { why, rule } = obstacleOf(refusal);
  if (why !== place.why || rule !== place.rule) line.put({ ...place, why, rule });
}

function isLent(outcome: Outcome): boolean {
  return outcome.kind !== 'refused';
}
