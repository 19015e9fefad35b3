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
import { type CloudStore, record, takeId, transact } from './cloud-store.ts';
import { toDevice, toLicense } from './rows.ts';

interface Executed {
  readonly outcome: Outcome;
  /** The identified license; `null`: none. */
  readonly licenseId: number | null;
}

/** What a caller may see; see `CallerKey`. */
type Scope = Pick<License, 'customer'>;

/** For the vendor. */
const ALL: Scope = { customer: null };

/** Finds the license, lets the core decide, and writes the result and its events in one transaction. */
export function execute(store: CloudStore, command: Command, scope: Scope, now: number): Executed {
  return transact(store, () => {
    const license = findLicense(store, command, scope);
    if (isRefusal(license)) return { outcome: license, licenseId: null };
    return { outcome: performOn(store, license, command, now), licenseId: license.id };
  });
}

/** The same for the vendor, as part of a larger operation. Call only inside a transaction. */
export function perform(store: CloudStore, command: Command, now: number): Outcome {
  const license = findLicense(store, command, ALL);
  return isRefusal(license) ? license : performOn(store, license, command, now);
}

/** The same for a license that is already identified. Call only inside a transaction. */
export function performOn(store: CloudStore, license: License, command: Command, now: number): Outcome {
  const { outcome, changes, events } = decide(command, loadView(store, command, license, now), now);
  for (const change of changes) apply(store, license, change, now);
  for (const event of events) record(store, event, license.id, now);
  return outcome;
}

function findLicense(store: CloudStore, command: Command, scope: Scope): License | Refusal {
  const { product, hardwareId } = command.who;
  const productId = store.sql.findProduct.get(product)?.id as number | undefined;
  if (productId === undefined) return refuse('unknown_product', `The product "${product}" does not exist.`);
  const license = findCandidate(store, productId, command.who, scope);
  const device = license === null ? undefined : store.sql.findDevice.get(license.id, hardwareId);
  return identify(command, license, device !== undefined);
}

function findCandidate(
  { sql }: CloudStore,
  product: number,
  { proof }: Identity,
  { customer }: Scope,
): License | null {
  const row =
    proof.kind === 'key'
      ? sql.findLicenseByKey.get({ product, key: proof.key, customer })
      : sql.findLicenseByUser.get({ product, user: proof.name, customer });
  return row === undefined ? null : toLicense(row);
}

function loadView(store: CloudStore, command: Command, license: License, now: number): View {
  const { sql } = store;
  const { hardwareId } = command.who;
  const device = sql.findDevice.get(license.id, hardwareId);
  return {
    license,
    device: device === undefined ? null : toDevice(device),
    deviceCount: countDevices(store, license.id),
    nextDeviceId: takeId(),
    isBlocked: sql.findBlocked.get(hardwareId) !== undefined,
    totals: loadTotals(store, license, now, listAsked(command, license)),
    report: command.kind === 'count' ? findReport(store, license.id, command.reportId) : null,
  };
}

export function countDevices({ sql }: CloudStore, licenseId: number): number {
  return sql.countDevices.get(licenseId)?.count as number;
}

/** Loads only the total that is counted: a usage file may count each of a thousand features. */
function listAsked(command: Command, { terms }: License): readonly string[] {
  return command.kind === 'count' ? [command.feature ?? WHOLE_LICENSE] : listCounted(terms);
}

export function loadTotals(
  { sql }: CloudStore,
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

function findReport({ sql }: CloudStore, licenseId: number, reportId: string | null): Report | null {
  const row = reportId === null ? undefined : sql.findReport.get(licenseId, reportId);
  if (row === undefined) return null;
  return { id: row.id as string, feature: row.feature as string, amount: row.amount as number };
}

function apply(store: CloudStore, { id, terms }: License, change: Change, now: number): void {
  const { sql } = store;
  switch (change.kind) {
    case 'add_device':
      sql.addDevice.run(change.id, id, change.hardwareId, JSON.stringify(change.host), now, now);
      return;
    case 'refresh_device':
      sql.refreshDevice.run(JSON.stringify(change.host), now, id, change.hardwareId);
      return;
    case 'see_device':
      sql.seeDevice.run(now, id, change.hardwareId);
      return;
    case 'remove_device':
      sql.removeDevice.run(id, change.hardwareId);
      sql.endApproval.run(change.hardwareId);
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
