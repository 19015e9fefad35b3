import type { Change } from '../../../core/decision.ts';
import type { EndedBorrow } from '../../../core/nouns/ended-borrow.ts';
import { originToKey } from '../rows.ts';
import type { ChangeTarget } from './apply.ts';

/** The changes that concern borrows that have ended. */
export type BorrowChange = Extract<
  Change,
  { kind: 'keep_borrow' | 'trim_borrows' | 'forget_borrow' | 'forget_all_borrows' }
>;

export function applyBorrowChange(target: ChangeTarget, change: BorrowChange): void {
  const { statements, entry } = target;
  const { id } = entry.license;
  switch (change.kind) {
    case 'keep_borrow':
      keepBorrow(target, change.borrow);
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

function keepBorrow({ statements, entry, now }: ChangeTarget, borrow: EndedBorrow): void {
  const { user, feature, host, registeredAt, borrowedUntil, credential, spelling = null } = borrow;
  const { hostname, address, info } = host;
  const origin = originToKey(borrow.origin);
  const { id } = entry.license;
  statements.putEndedBorrow.run(
    id,
    user,
    feature,
    hostname,
    address,
    info,
    registeredAt,
    borrowedUntil,
    origin,
    credential,
    spelling,
    now,
  );
}
