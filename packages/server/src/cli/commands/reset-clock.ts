import { formatTable } from '@berth/protocol/console/console-text';
import type { AdminAnswer, AdminClient } from '../admin-client.ts';
import type { Flags } from '../command.ts';

interface ShownBorrow {
  readonly license_id: number;
  readonly product: string;
  readonly feature: string | null;
  readonly user: string;
  readonly borrowed_until: string;
  /** Set only for borrows that cannot be restored. */
  readonly reason?: string;
}

interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly count: number;
  readonly borrows: readonly ShownBorrow[];
}

/** The clock, and what happened to the borrows. */
interface Report {
  readonly dry_run?: boolean;
  readonly restored: readonly ShownBorrow[];
  readonly lost: readonly ShownBorrow[];
}

/** A report, or the borrows that cannot be restored and because of which nothing was changed. */
export type ResetAnswer = Report | Refusal;

const REFUSED = 'borrows_not_restorable';

/** A refusal that lists borrows is shown like an answer, but the command fails. */
export async function askReset(
  client: AdminClient,
  _: readonly string[],
  flags: Flags,
): Promise<AdminAnswer> {
  const isTrial = flags['dry-run'] === true;
  const answer = await client.post('/api/admin/clock/reset', {
    ...(isTrial ? { dry_run: true } : {}),
    ...(flags.yes ? { accept_losses: true } : {}),
  });
  const body = answer.body as ResetAnswer;
  if (isRefusedReset(body)) return { ok: true, body: body as never };
  return answer.ok && isTrial ? { ok: true, body: { dry_run: true, ...body } as never } : answer;
}

export function isRefusedReset(answer: ResetAnswer): answer is Refusal {
  return 'code' in answer && answer.code === REFUSED;
}

export function showReset<Clock>(answer: ResetAnswer, showClock: (clock: Clock) => string): string {
  if (isRefusedReset(answer)) {
    const { message, borrows, count } = answer;
    const rest = count > borrows.length ? `\nand ${count - borrows.length} more` : '';
    return `${message}\n${showLost(borrows)}${rest}\nTo reset the clock anyway, add --yes.`;
  }
  const { dry_run: isTrial = false, restored, lost, ...clock } = answer;
  return [
    showClock(clock as Clock),
    ...(restored.length === 0 ? [] : [isTrial ? 'Would be restored:' : 'Restored:', showBorrows(restored)]),
    ...(lost.length === 0 ? [] : [isTrial ? 'Cannot be restored:' : 'Not restored:', showLost(lost)]),
    ...(isTrial ? ['This was a dry run: nothing was changed.'] : []),
  ].join('\n');
}

const COLUMNS = ['license', 'product', 'feature', 'user', 'borrowed until'];

function showBorrows(borrows: readonly ShownBorrow[]): string {
  return formatTable(COLUMNS, borrows.map(cellsOf));
}

function showLost(borrows: readonly ShownBorrow[]): string {
  const rows = borrows.map((borrow) => [...cellsOf(borrow), borrow.reason]);
  return formatTable([...COLUMNS, 'why not'], rows);
}

function cellsOf({ license_id, product, feature, user, borrowed_until }: ShownBorrow): readonly unknown[] {
  return [license_id, product, feature, user, borrowed_until];
}
