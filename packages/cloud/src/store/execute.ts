import type { Command, Identity } from '../core/command.ts';
import { countingWindowStart, listCounted } from '../core/counting-window.ts';
import { decide } from '../core/decide.ts';
import {
  type Change,
  type Outcome,
  type Report,
  type Totals,
  type View,
  WHOLE_LICENSE,
} from '../core/decision.ts';
import { identify } from '../core/identify.ts';
import type { License } from '../core/license.ts';
import { isRefusal, type Refusal, refuse } from '../core/refusal.ts';
import { toDevice, toLicense } from './rows.ts';
import { record, type Shelf, takeId, transact } from './shelf.ts';

export interface Executed {
  readonly outcome: Outcome;
  /** The license that was identified; `null`: none was. */
  readonly licenseId: number | null;
}

/** Finds the license, lets the core decide, and writes what it decided with its record in one commit. */
export function execute(shelf: Shelf, command: Command, now: number): Executed {
  return transact(shelf, () => {
    const license = findLicense(shelf, command);
    if (isRefusal(license)) return { outcome: license, licenseId: null };
    return { outcome: performOn(shelf, license, command, now), licenseId: license.id };
  });
}

/** The same as a part of something larger. Inside a transaction only. */
export function perform(shelf: Shelf, command: Command, now: number): Outcome {
  const license = findLicense(shelf, command);
  return isRefusal(license) ? license : performOn(shelf, license, command, now);
}

/** The same for a license that was found and identified. Inside a transaction only. */
export function performOn(shelf: Shelf, license: License, command: Command, now: number): Outcome {
  const { outcome, changes, events } = decide(command, loadView(shelf, command, license, now), now);
  for (const change of changes) apply(shelf, license, change, now);
  for (const event of events) record(shelf, event, license.id, now);
  return outcome;
}

function findLicense(shelf: Shelf, command: Command): License | Refusal {
  const { product, hardwareId } = command.who;
  const productId = shelf.sql.findProduct.get(product)?.id as number | undefined;
  if (productId === undefined) return refuse('unknown_product', `There is no product "${product}" here.`);
  const license = findCandidate(shelf, productId, command.who);
  const device = license === null ? undefined : shelf.sql.findDevice.get(license.id, hardwareId);
  return identify(command, license, device !== undefined);
}

function findCandidate({ sql }: Shelf, productId: number, { proof }: Identity): License | null {
  const row =
    proof.kind === 'key'
      ? sql.findLicenseByKey.get(productId, proof.key)
      : sql.findLicenseByUser.get(productId, proof.name);
  return row === undefined ? null : toLicense(row);
}

function loadView(shelf: Shelf, command: Command, license: License, now: number): View {
  const { sql } = shelf;
  const { hardwareId } = command.who;
  const device = sql.findDevice.get(license.id, hardwareId);
  return {
    license,
    device: device === undefined ? null : toDevice(device),
    deviceCount: countDevices(shelf, license.id),
    nextDeviceId: sql.readNextId.get()?.next_id as number,
    isBlocked: sql.findBlocked.get(hardwareId) !== undefined,
    totals: loadTotals(shelf, license, now, listAsked(command, license)),
    report: command.kind === 'count' ? findReport(shelf, license.id, command.reportId) : null,
  };
}

export function countDevices({ sql }: Shelf, licenseId: number): number {
  return sql.countDevices.get(licenseId)?.count as number;
}

/** Who counts one thing needs its total alone: a usage file may count each of a thousand features. */
function listAsked(command: Command, { terms }: License): readonly string[] {
  return command.kind === 'count' ? [command.feature ?? WHOLE_LICENSE] : listCounted(terms);
}

export function loadTotals(
  { sql }: Shelf,
  { id, terms }: License,
  now: number,
  counted = listCounted(terms),
): Totals {
  return new Map(
    counted.map((feature) => {
      const row = sql.findTotal.get(id, feature, countingWindowStart(terms, feature, now));
      return [feature, (row?.total as number | undefined) ?? 0];
    }),
  );
}

function findReport({ sql }: Shelf, licenseId: number, reportId: string | null): Report | null {
  const row = reportId === null ? undefined : sql.findReport.get(licenseId, reportId);
  if (row === undefined) return null;
  return { id: row.id as string, feature: row.feature as string, amount: row.amount as number };
}

function apply(shelf: Shelf, { id, terms }: License, change: Change, now: number): void {
  const { sql } = shelf;
  switch (change.kind) {
    case 'add_device':
      sql.addDevice.run(takeId(shelf), id, change.hardwareId, JSON.stringify(change.host), now, now);
      return;
    case 'refresh_device':
      sql.refreshDevice.run(JSON.stringify(change.host), now, id, change.hardwareId);
      return;
    case 'see_device':
      sql.seeDevice.run(now, id, change.hardwareId);
      return;
    case 'remove_device':
      sql.removeDevice.run(id, change.hardwareId);
      return;
    case 'set_active':
      sql.setActive.run(1, id);
      return;
    case 'set_transfer_count':
      sql.setTransferCount.run(change.transferCount, id);
      return;
    case 'put_total':
      sql.putTotal.run(id, change.feature, countingWindowStart(terms, change.feature, now), change.total);
      return;
    case 'add_report':
      sql.addReport.run(id, change.report.id, change.report.feature, change.report.amount, now);
      return;
  }
}
