import type { Change } from '../../../core/decision.ts';
import { endedBorrowRow } from '../rows.ts';
import type { ChangeTarget } from './change-target.ts';

/** The changes that concern borrows that have ended. */
export type BorrowChange = Extract<
  Change,
  { kind: 'keep_borrow' | 'trim_borrows' | 'forget_borrow' | 'forget_all_borrows' }
>;

export function applyBorrowChange({ statements, entry, now }: ChangeTarget, change: BorrowChange): void {
  const { id } = entry.license;
  switch (change.kind) {
    case 'keep_borrow':
      statements.ended_borrow.put(endedBorrowRow(id, change.borrow, now));
      break;
    case 'trim_borrows':
      statements.trimEndedBorrows.run({ id, kept: change.kept });
      break;
    case 'forget_borrow':
      statements.removeEndedBorrows.run({ id, user: change.user, feature: change.feature });
      break;
    case 'forget_all_borrows':
      statements.removeAllEndedBorrows.run(id);
      break;
  }
}
