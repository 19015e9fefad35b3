import { createHash } from 'node:crypto';
import type { ReadUsage, Usage } from '@berth/protocol/carried/usage-file';
import type { Identity } from '../../core/command.ts';
import { type Counted, WHOLE_LICENSE } from '../../core/decision.ts';
import {
  judgeSequence,
  listUsageTotals,
  refuseShrunk,
  type TakenUsage,
  type UsageTotal,
} from '../../core/judge-usage.ts';
import type { License } from '../../core/license.ts';
import { isRefusal, type Refusal, refuse } from '../../core/refusal.ts';
import { type CloudStore, record, transact } from '../cloud-store.ts';
import { performOn } from '../execute.ts';
import { checkServerKey } from '../keys/server-keys.ts';
import { release } from '../keys/waiting-keys.ts';
import { type Row, toLicense } from '../rows.ts';

/** The newly counted amounts of a usage file. */
export interface CountedUsage {
  readonly hardwareId: string;
  readonly sequence: number;
  /** The file was accepted before; nothing was counted. */
  readonly isRepeat: boolean;
  readonly added: readonly Added[];
}

interface Added {
  readonly licenseKey: string;
  /** `null`: the license itself. */
  readonly feature: string | null;
  readonly amount: number;
  readonly total: number;
}

/** A usage file and the address that submitted it; `null`: the vendor did. */
interface CarriedUsage extends ReadUsage {
  readonly from: string | null;
}

/** Accepts a usage file from a server that may speak for its machine. */
export function takeUsage(store: CloudStore, carried: CarriedUsage, now: number): CountedUsage | Refusal {
  const { usage, isSigned, from } = carried;
  if (!isSigned) {
    return refuse('usage_file_invalid', 'The usage file was changed: its signature is wrong.');
  }
  const taken = transact(store, () => {
    const { hardware_id: hardwareId, server_key: serverKey } = usage;
    // Nothing is counted, so the current state of the machine and its licenses does not matter.
    if (judgeUsage(store, usage).verdict === 'repeat') return countUsage(store, usage, now);
    const totals = listUsageTotals(usage);
    if (isRefusal(totals)) return totals;
    const licenseIds = listOwn(store, usage);
    if (licenseIds.length === 0) return refuseNotHere(hardwareId);
    const file = {
      asks: 'usage',
      hardwareId,
      serverKey,
      vouchedBy: null,
      grantKey: null,
      licenseIds,
      from,
    } as const;
    return checkServerKey(store, file, now) ?? countUsage(store, usage, now);
  });
  return release<CountedUsage | Refusal>(taken);
}

/** The licenses in the usage file that its machine has. */
function listOwn(store: CloudStore, { licenses, hardware_id: hardwareId }: Usage): readonly number[] {
  return licenses
    .filter((one) => findOwn(store, one.license_id, one.license_key, hardwareId) !== undefined)
    .map((one) => one.license_id);
}

/** The license, if it is activated on the machine. */
function findOwn({ sql }: CloudStore, id: number, key: string, hardwareId: string): Row | undefined {
  const row = sql.findLicense.get(key);
  const isOwn = row?.id === id && sql.findDevice.get(id, hardwareId) !== undefined;
  return isOwn ? row : undefined;
}

/** The same refusal for a missing license as for a license on another machine. */
function refuseNotHere(hardwareId: string): Refusal {
  return refuse(
    'license_not_found',
    `The usage file has a license that is not activated on machine "${hardwareId}".`,
  );
}

/** Counts new amounts, all or nothing. Call only inside a transaction, after the signature check. */
export function countUsage(store: CloudStore, usage: Usage, now: number): CountedUsage | Refusal {
  const { hardware_id: hardwareId, sequence, server_key: key } = usage;
  const { digest, verdict } = judgeUsage(store, usage);
  if (isRefusal(verdict)) return verdict;
  if (verdict === 'repeat') return { hardwareId, sequence, isRepeat: true, added: [] };
  const totals = listUsageTotals(usage);
  if (isRefusal(totals)) return totals;
  const added: Added[] = [];
  const find = createFinder(store, hardwareId);
  for (const one of totals) {
    const result = addNew(store, one, usage, find, now);
    if (isRefusal(result)) return result;
    added.push(...result);
  }
  store.sql.putUsageTaken.run(key, sequence, digest);
  record(store, { kind: 'usage_taken', facts: { hardware_id: hardwareId, sequence } }, null, now);
  return { hardwareId, sequence, isRepeat: false, added };
}

function judgeUsage(store: CloudStore, usage: Usage) {
  const digest = createHash('sha256').update(JSON.stringify(usage)).digest('base64');
  const taken = findTaken(store, usage.server_key);
  return { digest, verdict: judgeSequence(taken, { sequence: usage.sequence, digest }) };
}

function findTaken({ sql }: CloudStore, serverKey: string): TakenUsage | null {
  const row = sql.findUsageTaken.get(serverKey);
  return row === undefined ? null : { sequence: row.sequence as number, digest: row.digest as string };
}

type FindOwn = (reported: UsageTotal) => License | undefined;

/** Reads each license once: reading it for each of a thousand features would take seconds. */
function createFinder(store: CloudStore, hardwareId: string): FindOwn {
  const found = new Map<string, License | undefined>();
  return ({ licenseId, licenseKey }) => {
    const name = `${licenseId} ${licenseKey}`;
    if (!found.has(name)) {
      const row = findOwn(store, licenseId, licenseKey, hardwareId);
      found.set(name, row === undefined ? undefined : toLicense(row));
    }
    return found.get(name);
  };
}

/** Files keep listing licenses that the server deactivated long ago; they contain no new amounts. */
function addNew(
  store: CloudStore,
  reported: UsageTotal,
  usage: Usage,
  find: FindOwn,
  now: number,
): readonly Added[] | Refusal {
  const { sql } = store;
  const { licenseId, licenseKey, consumed } = reported;
  const { server_key: key, hardware_id: hardwareId } = usage;
  const before =
    (sql.findReportedUsage.get(key, licenseId, reported.feature)?.consumed as number | undefined) ?? 0;
  const amount = consumed - before;
  if (amount === 0) return [];
  const feature = reported.feature === WHOLE_LICENSE ? null : reported.feature;
  const license = find(reported);
  if (license === undefined) return refuseNotHere(hardwareId);
  const { code: product } = license.product;
  const who: Identity = { product, hardwareId, licenseId, proof: { kind: 'key', key: licenseKey } };
  const outcome = performOn(
    store,
    license,
    {
      kind: 'count',
      who,
      feature,
      amount,
      allowOverages: null,
      maxOverages: null,
      isSync: true,
      reportId: null,
    },
    now,
  );
  if (isRefusal(outcome)) return refuseShrunk(outcome, reported, amount);
  sql.putReportedUsage.run(key, licenseId, reported.feature, consumed);
  return [{ licenseKey, feature, amount, total: (outcome as Counted).total }];
}
