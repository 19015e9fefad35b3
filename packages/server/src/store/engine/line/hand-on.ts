import { placeOf } from '@berth/protocol/address-range';
import type { Command } from '../../../core/command.ts';
import { isLicenseCommand, moduleOf } from '../../../core/decide.ts';
import { canWait, isKept, isPresent, type Place } from '../../../core/lending/waiting-line.ts';
import { addressOf } from '../../../core/nouns/actor.ts';
import type { Outcome } from '../../../core/outcome.ts';
import type { Batch } from '../batch.ts';
import { executeCommand } from '../execute.ts';
import { callInVain } from './execute-on-line.ts';
import { canBeServed, findRoom, type Room } from './room.ts';
import type { LineRow } from './waiting-line.ts';

/** Hands free slots to those who wait: before the first command of a batch, and after each. */
export function handOn(batch: Batch, command?: Command): void {
  beginHandingOn(batch, command);
  for (let place = chooseNext(batch); place !== null; place = chooseNext(batch)) serve(batch, place);
}

/** A store that has to wait for rows calls the three steps itself. */
export function beginHandingOn(batch: Batch, command?: Command): void {
  batch.line.passedOver.clear();
  if (command === undefined || (isLicenseCommand(command) && moduleOf(command).isFromClients)) return;
  for (const product of new Set(Array.from(batch.line.rows(), (row) => row.product)))
    callInVain(batch, product);
}

/** The first who can be served; `null`: nobody. */
export function chooseNext(batch: Batch): Place | null {
  batch.savepoint.begin();
  for (const row of batch.line.rows()) {
    const room = findRoom(batch, row);
    const described = describe(room);
    if (room.size === 0 || row.futile === described) continue;
    const place = chooseFirst(batch, row, room);
    if (place !== null) return place;
    row.futile = described;
  }
  return null;
}

function describe(room: Room): string {
  return JSON.stringify([...room]);
}

/** The first by counts: with a thousand in line, one is decided about. */
function chooseFirst({ line, now }: Batch, row: LineRow, room: Room): Place | null {
  let kept = 0;
  for (const place of row.list()) {
    if (place.lentBy !== null || isPassedOver(line.passedOver, place)) continue;
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
    passOver(line.passedOver, place, outcome.code === 'address_limit_reached');
    return;
  }
  // Their own request answers, also if it is refused now or fails.
  const lentBy = outcome === null ? null : lenderOf(outcome);
  if (lentBy === null) line.remove(place);
  else line.put({ ...place, lentBy });
  line.call(place);
}

function isLent(outcome: Outcome): boolean {
  return outcome.kind !== 'refused';
}

function lenderOf(outcome: Outcome): Place['lentBy'] {
  if (outcome.kind === 'granted') return outcome.license.id;
  return outcome.kind === 'measured' ? outcome.licenseId : null;
}

/** All from an address that has its share are passed over with the first of them. */
function passOver(passedOver: Set<string>, place: Place, isOfAddress: boolean): void {
  const address = isOfAddress ? addressOf(place.command.by) : null;
  passedOver.add(address === null ? `user ${place.user}` : `address ${placeOf(address)}`);
}

function isPassedOver(passedOver: ReadonlySet<string>, { user, command }: Place): boolean {
  if (passedOver.size === 0) return false;
  const address = addressOf(command.by);
  return (
    passedOver.has(`user ${user}`) || (address !== null && passedOver.has(`address ${placeOf(address)}`))
  );
}
