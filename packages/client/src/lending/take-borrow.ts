import { type Duration, parseDuration } from '../duration.ts';
import { BerthError, BorrowError, DeniedError, ProofError, StorageError } from '../errors.ts';
import { type OptionNames, refuseUnknown } from '../known-options.ts';
import type { Grant } from '../proof/verifier.ts';
import { type Account, holderOf, licenseIdOf } from './account.ts';
import {
  borrowNameOf,
  giveBackRecord,
  type Lent,
  loadRecord,
  type StoredRecord,
  storeRecord,
} from './borrow-record.ts';
import type { Lease } from './lease.ts';
import { lengthMs, longestMs, type SlotRequests } from './proven-lease.ts';

export interface BorrowOptions {
  /**
   * A date, for how long, or an ISO date-time with its zone, such as `latest_until` of a refusal. Without it,
   * as long as the license allows.
   */
  readonly until?: Date | Duration | undefined;
}

const BORROW_OPTIONS: OptionNames<BorrowOptions> = { until: true };

/** Without a zone, it would be another time on each computer. */
const ZONED = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/;

interface TakeOptions extends BorrowOptions {
  /** Called before the slot is returned, because what was lent cannot be kept. */
  readonly beforeReturn?: () => void;
}

/** A borrow that the server has lent, and that is stored. */
export interface Taken {
  readonly stored: StoredRecord;
  readonly lent: Lent;
  readonly grant: Grant | null;
  readonly lease: Lease;
}

/**
 * Stores what it asks for, asks, and stores what it got. Wherever the program ends, the next start finds what
 * may be lent; and if nothing can be stored, nothing is asked for. @internal
 */
export async function takeBorrow(
  account: Account,
  requests: SlotRequests,
  licenseId: number | null,
  { beforeReturn, ...options }: TakeOptions,
): Promise<Taken> {
  refuseUnknown('borrow()', options, BORROW_OPTIONS);
  const { until } = options;
  const { product, user, servers, environment } = account;
  const asked = { until: until === undefined ? null : dateOf(account, until) };
  const mark = await account.findMark();
  const binding = servers.bindingOf(await servers.findStore());
  const name = borrowNameOf({ product, binding, user });
  const before = await loadRecord(account, name).catch(nullIfUnreadable);
  const seenMs = before?.seenMs ?? environment.readWallMs();
  const lent = before?.lent ?? null;
  const record = { product, user, licenseId, mark, binding, asked, lent, seenMs };
  await storeRecord(account, { name, record });
  const isRepeated = before?.asked != null;
  return askForBorrow(account, requests, { name, record }, isRepeated, beforeReturn);
}

/** `isRepeated`: it was asked for before, and perhaps lent. @internal */
export async function askForBorrow(
  account: Account,
  requests: SlotRequests,
  asking: StoredRecord,
  isRepeated: boolean,
  beforeReturn: () => void = () => {},
): Promise<Taken> {
  const { asked, licenseId, mark, binding } = asking.record;
  const until = asked?.until ?? null;
  const fields = {
    ...holderOf(account, licenseId),
    device_mark: mark,
    ...(until === null ? {} : { borrowed_until: until }),
  };
  try {
    const store = account.servers.storeOf(binding) ?? null;
    const { answer, lease, grant, proof } = await requests.send('borrow', fields, { store });
    if (grant !== null) judgeBorrow(grant, mark);
    const untilMs = Date.parse(grant?.valid_until ?? String(answer.fields.borrowed_until));
    const lent = { licenseId: grant?.license_id ?? licenseIdOf(answer), untilMs, proof };
    const seenMs = account.environment.readWallMs();
    const stored = { name: asking.name, record: { ...asking.record, asked: null, lent, seenMs } };
    await storeRecord(account, stored);
    return { stored, lent, grant, lease };
  } catch (error) {
    // If it cannot be undone now, what is stored says that something may be lent.
    await undo(account, asking, error, isRepeated, beforeReturn).catch(() => {});
    throw error;
  }
}

/** Throws a `ProofError` if it is not a borrow, not for this computer, or for too long. */
export function judgeBorrow(grant: Grant, mark: string): void {
  if (!grant.borrowed) throw new ProofError('The grant is not for a borrow.');
  if (grant.device_mark !== mark) throw new ProofError('The grant is for another computer.');
  if (lengthMs(grant) <= longestMs(grant, true)) return;
  throw new ProofError('The grant is for longer than the license allows to borrow.');
}

/** Without an answer, it stays as it is. A borrow from before stays in any case. */
async function undo(
  account: Account,
  { name, record }: StoredRecord,
  error: unknown,
  isRepeated: boolean,
  beforeReturn: () => void,
) {
  const isDenied = error instanceof DeniedError;
  if (!(isDenied || error instanceof ProofError || error instanceof StorageError)) return;
  if (record.lent !== null) return storeRecord(account, { name, record: { ...record, asked: null } });
  if (isDenied && !isRepeated) return account.storage.remove(name);
  beforeReturn();
  await giveBackRecord(account, { name, record });
}

function nullIfUnreadable(error: unknown): null {
  if (error instanceof BorrowError) return null;
  throw error;
}

function dateOf({ environment }: Account, until: Date | Duration): string {
  const date = ZONED.test(String(until)) ? new Date(String(until)) : until;
  try {
    if (date instanceof Date) return date.toISOString();
    return new Date(environment.readWallMs() + parseDuration('until', date)).toISOString();
  } catch (cause) {
    const advice =
      'Give a Date, a duration such as "2h" or "7d", or an ISO date-time with its zone, such as ' +
      '"2026-12-24T18:00:00Z".';
    throw new BerthError('invalid_option', `"until" is not a date: ${until}.`, advice, { cause });
  }
}
