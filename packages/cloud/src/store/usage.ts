import { createHash } from 'node:crypto';
import type { ReadUsage, Usage } from '@berth/protocol/usage-file';
import type { Identity } from '../core/command.ts';
import { type Counted, WHOLE_LICENSE } from '../core/decision.ts';
import { judgeSequence, listTold, refuseShrunk, type TakenUsage, type Told } from '../core/judge-usage.ts';
import { isRefusal, type Refusal, refuse } from '../core/refusal.ts';
import { perform } from './execute.ts';
import { findServerKey, learnServerKey } from './server-keys.ts';
import { record, type Shelf, transact } from './shelf.ts';

/** What was new in a usage file, and is counted now. */
export interface CountedUsage {
  readonly hardwareId: string;
  readonly sequence: number;
  /** It was taken before; nothing was counted. */
  readonly isRepeat: boolean;
  readonly added: readonly Added[];
}

export interface Added {
  readonly licenseKey: string;
  /** `null`: the license itself. */
  readonly feature: string | null;
  readonly amount: number;
  readonly total: number;
}

/** Takes a usage file: from the server that the machine is known by, or from the first that speaks for it. */
export function takeUsage(shelf: Shelf, { usage, isSigned }: ReadUsage, now: number): CountedUsage | Refusal {
  if (!isSigned) {
    return refuse('usage_file_invalid', 'The usage file was changed: its signature does not fit.');
  }
  return transact(shelf, () => {
    const { hardware_id: hardwareId, server_key: key } = usage;
    const known = findServerKey(shelf, hardwareId);
    if (known !== null && known !== key) {
      return refuse('usage_file_invalid', `The machine "${hardwareId}" is known by another key.`);
    }
    const counted = countUsage(shelf, usage, now);
    if (isRefusal(counted) || counted.isRepeat) return counted;
    if (known === null) learnServerKey(shelf, hardwareId, key, now);
    return refuseStranger(shelf, usage) ?? counted;
  });
}

/** A server that has no license of ours has nothing to tell, and is not to be remembered. */
function refuseStranger({ sql }: Shelf, { licenses, hardware_id: hardwareId }: Usage): Refusal | null {
  const isHere = licenses.some(
    ({ license_id: id, license_key: key }) =>
      sql.findLicense.get(key)?.id === id && sql.findDevice.get(id, hardwareId) !== undefined,
  );
  if (isHere) return null;
  const message = `No license of the usage is activated on the machine "${hardwareId}".`;
  return refuse('device_not_found', message);
}

/** Counts what is new, all or nothing. Inside a transaction only; who vouches was asked before. */
export function countUsage(shelf: Shelf, usage: Usage, now: number): CountedUsage | Refusal {
  const { hardware_id: hardwareId, sequence, server_key: key } = usage;
  const digest = createHash('sha256').update(JSON.stringify(usage)).digest('base64');
  const verdict = judgeSequence(findTaken(shelf, key), { sequence, digest });
  if (isRefusal(verdict)) return verdict;
  if (verdict === 'repeat') return { hardwareId, sequence, isRepeat: true, added: [] };
  const told = listTold(usage);
  if (isRefusal(told)) return told;
  const added: Added[] = [];
  for (const one of told) {
    const result = addNew(shelf, one, usage, now);
    if (isRefusal(result)) return result;
    added.push(...result);
  }
  shelf.sql.putUsageTaken.run(key, sequence, digest);
  record(shelf, { kind: 'usage_taken', facts: { hardware_id: hardwareId, sequence } }, null, now);
  return { hardwareId, sequence, isRepeat: false, added };
}

function findTaken({ sql }: Shelf, serverKey: string): TakenUsage | null {
  const row = sql.findUsageTaken.get(serverKey);
  return row === undefined ? null : { sequence: row.sequence as number, digest: row.digest as string };
}

/** What a server gave back long ago stands in its files for ever; nothing new is told of it. */
function addNew(shelf: Shelf, told: Told, usage: Usage, now: number): readonly Added[] | Refusal {
  const { sql } = shelf;
  const { licenseId, licenseKey, consumed } = told;
  const { server_key: key, hardware_id: hardwareId } = usage;
  const before = (sql.findUsageTold.get(key, licenseId, told.feature)?.consumed as number | undefined) ?? 0;
  const amount = consumed - before;
  if (amount === 0) return [];
  const feature = told.feature === WHOLE_LICENSE ? null : told.feature;
  const product = sql.findLicense.get(licenseKey)?.code as string | undefined;
  if (product === undefined)
    return refuse('license_not_found', 'The usage names a license that is not here.');
  const who: Identity = { product, hardwareId, licenseId, proof: { kind: 'key', key: licenseKey } };
  const outcome = perform(
    shelf,
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
  if (isRefusal(outcome)) return refuseShrunk(outcome, told, amount);
  sql.putUsageTold.run(key, licenseId, told.feature, consumed);
  return [{ licenseKey, feature, amount, total: (outcome as Counted).total }];
}
