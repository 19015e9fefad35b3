import type { PostAnswer } from '@berth/protocol/admin/admin-api';
import { formatTable } from '@berth/shell/console/console-text';
import type { AdminAnswer, AdminClient } from '../admin-client.ts';
import type { Flags } from '../command.ts';

type Reset = PostAnswer<'/api/admin/clock/reset'>;
type Borrow = Reset['restored'][number];
type LostBorrow = Reset['lost'][number];

interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly count: number;
  readonly borrows: readonly LostBorrow[];
}

/** What happened, or the borrows that cannot be restored and because of which nothing was changed. */
type ResetAnswer = (Reset & { readonly dry_run?: true }) | Refusal;

const REFUSED = 'borrows_not_restorable';

/** A refusal that lists borrows is shown like an answer, but the command fails. */
export async function askReset(
  client: AdminClient,
  _: readonly string[],
  flags: Flags,
): Promise<AdminAnswer<ResetAnswer>> {
  const isTrial = flags['dry-run'] === true;
  const answer = await client.post('/api/admin/clock/reset', {
    ...(isTrial ? { dry_run: true } : {}),
    ...(flags.yes ? { accept_losses: true } : {}),
  });
  if (!answer.ok) return isRefusedReset(answer.body) ? { ok: true, body: answer.body } : answer;
  return isTrial ? { ok: true, body: { dry_run: true, ...answer.body } } : answer;
}

export function isRefusedReset(answer: object): answer is Refusal {
  return 'code' in answer && answer.code === REFUSED;
}

export function showReset(answer: ResetAnswer, showClock: (clock: Reset) => string): string {
  if (isRefusedReset(answer)) {
    const { message, borrows, count } = answer;
    const rest = count > borrows.length ? `\nand ${count - borrows.length} more` : '';
    return `${message}\n${showLost(borrows)}${rest}\nTo reset the clock anyway, add --yes.`;
  }
  const { dry_run: isTrial = false, restored, lost } = answer;
  return [
    showClock(answer),
    ...(restored.length === 0 ? [] : [isTrial ? 'Would be restored:' : 'Restored:', showBorrows(restored)]),
    ...(lost.length === 0 ? [] : [isTrial ? 'Cannot be restored:' : 'Not restored:', showLost(lost)]),
    ...(isTrial ? ['This was a dry run: nothing was changed.'] : []),
  ].join('\n');
}

const COLUMNS = ['license', 'product', 'feature', 'user', 'borrowed until'];

function showBorrows(borrows: readonly Borrow[]): string {
  return formatTable(COLUMNS, borrows.map(cellsOf));
}

function showLost(borrows: readonly LostBorrow[]): string {
  const rows = borrows.map((borrow) => [...cellsOf(borrow), borrow.reason]);
  return formatTable([...COLUMNS, 'why not'], rows);
}

function cellsOf({ license_id, product, feature, user, borrowed_until }: Borrow): readonly unknown[] {
  return [license_id, product, feature, user, borrowed_until];
}
