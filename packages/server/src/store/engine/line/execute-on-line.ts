import type { Command, HandOn, LicenseCommand, LineCommand } from '../../../core/command.ts';
import { isGone, type Place } from '../../../core/lending/waiting-line.ts';
import { WHOLE_LICENSE } from '../../../core/nouns/consumption.ts';
import { isUsable } from '../../../core/nouns/license.ts';
import type { HandedOn } from '../../../core/outcome.ts';
import { refuseByRules } from '../../../core/rules/rules.ts';
import type { Executed } from '../../store.ts';
import type { Batch } from '../batch.ts';
import { leaveLine } from './join-line.ts';
import { recordWait } from './record-wait.ts';
import { findNextEnd, findNextMinute } from './room.ts';

export function isLineCommand(command: Command): command is LineCommand {
  return command.kind === 'hand_on' || command.kind === 'leave_line';
}

export function executeOnLine(
  batch: Batch,
  command: LineCommand,
  execute: (command: LicenseCommand) => Executed,
): Executed {
  if (command.kind === 'hand_on') return lookAfter(batch, command);
  const returning = leaveLine(batch, command);
  return returning === null ? { kind: 'done', count: 0 } : execute(returning);
}

/** Forgets who has gone, and calls those who would be refused even if a slot were free. */
export function clearLine(batch: Batch, product: string): void {
  const { line, now } = batch;
  for (const place of line.listRows(product).flatMap((row) => row.list())) {
    const hasGone = isGone(place, now);
    if (!hasGone && (place.lentBy !== null || !isInVain(batch, place))) continue;
    recordWait(batch, place, null);
    line.remove(place);
    if (!hasGone) line.call(place);
  }
}

/** Free slots are handed on after it. */
function lookAfter(batch: Batch, { product }: HandOn): HandedOn {
  const { line, now } = batch;
  clearLine(batch, product);
  const rows = line.listRows(product);
  for (const row of rows) row.futile = null;
  const places = rows.flatMap((row) => row.list());
  const changes = rows.map((row) => findNextEnd(batch, row));
  const ends = [...changes, findNextMinute(batch, product)].filter((end) => end !== null);
  const lent = places.filter(({ lentBy, presence }) => lentBy !== null && line.server in presence);
  return {
    kind: 'handed_on',
    lent: lent.map(({ feature, user }) => ({ product, feature, user })),
    waiting: places.length - lent.length,
    nextEndAt: ends.length === 0 ? null : (Math.min(...ends) as HandedOn['nextEndAt']),
    now,
  };
}

function isInVain({ licenses, rules, now }: Batch, { product, feature, command }: Place): boolean {
  const { licenseId } = command;
  const wantedFeature = feature === WHOLE_LICENSE ? null : feature;
  const wanted = licenses
    .listByProduct(product)
    .filter(({ license }) => licenseId === null || license.id === licenseId);
  const isUseless = !wanted.some(({ license }) => isUsable(license, now));
  return isUseless || refuseByRules(rules, command, product, wantedFeature) !== null;
}
