import type { Change, SystemChange } from '../../../core/decision.ts';
import type { Instant } from '../../../core/nouns/instant.ts';
import type { License } from '../../../core/nouns/license.ts';
import { orNoRules, type Rules } from '../../../core/rules/rules.ts';
import type { MasterKey } from '../../../secrets/seal.ts';
import { denialRow, placeDenialRow, registrationRow } from '../rows.ts';
import { applySecretChange } from '../sealed-secrets.ts';
import { noteEnd, type ShelfEntry } from '../shelf.ts';
import type { Statements } from '../statements.ts';
import { applyAccountChange } from './apply-account.ts';
import { applyBorrowChange } from './apply-borrow.ts';
import { applyMeterChange } from './apply-meter.ts';
import type { ChangeTarget } from './change-target.ts';

/** Requests that nobody answers are forgotten one day; answered ones never are. */
const MAX_OPEN_REQUESTS = 1000;

/** What a change to the server itself is applied to. */
export interface SystemTarget {
  readonly statements: Statements;
  readonly now: Instant;
  masterKey: MasterKey;
  rules: Rules;
}

/** Writes what was decided. It decides nothing itself. */
export function applyChange(target: ChangeTarget, change: Change): void {
  const { statements, shelf, entry, now } = target;
  const id = entry.license.id;
  switch (change.kind) {
    case 'put_registration':
      statements.registration.put(registrationRow(id, change.registration));
      noteEnd(entry, change.registration.endsAt);
      break;
    case 'renew_registration':
      statements.registration.renew({ license_id: id, user: change.user }, change.endsAt);
      noteEnd(entry, change.endsAt);
      break;
    case 'remove_registration':
      statements.registration.remove({ license_id: id, user: change.user });
      break;
    case 'remove_live_registrations':
      statements.removeLiveRegistrations.run(id, now);
      break;
    case 'set_in_use':
      entry.storedInUse = change.inUse;
      entry.isChanged = true;
      break;
    case 'keep_borrow':
    case 'trim_borrows':
    case 'forget_borrow':
    case 'forget_all_borrows':
      applyBorrowChange(target, change);
      break;
    case 'put_license':
      putLicense(statements, entry, change.license, now);
      shelf.replaceLicense(entry, change.license);
      break;
    case 'remove_license':
      statements.removeLicense.run(now, id);
      shelf.setRemoved(entry, now);
      break;
    case 'void_requests':
      statements.voidRequests.run(id, change.product);
      break;
    case 'answer_request':
      statements.answerRequest.run(id, change.requestId);
      break;
    case 'end_registrations_by':
      statements.endRegistrationsBy.run({ id, endsBy: change.endsBy });
      noteEnd(entry, change.endsBy);
      break;
    case 'put_denial':
      statements.denial.put(denialRow(id, change.denial));
      break;
    case 'remove_denial':
      statements.denial.remove(denialRow(id, change.denial));
      break;
    case 'put_place_denial':
      statements.place_denial.put(placeDenialRow(id, change.denial));
      break;
    case 'remove_place_denial':
      statements.place_denial.remove(placeDenialRow(id, change.denial));
      break;
    default:
      applyMeterChange(target, change);
  }
}

function putLicense(
  statements: Statements,
  { order, head }: ShelfEntry,
  license: License,
  now: Instant,
): void {
  const { id, product } = license;
  statements.putLicense.run({ id, product, facts: JSON.stringify(license), order, now, mac: head.mac });
}

export function applySystemChange(target: SystemTarget, change: SystemChange): void {
  const { statements, now } = target;
  switch (change.kind) {
    case 'add_request':
      statements.offline_request.add({
        id: change.requestId,
        request: change.request,
        product: change.product,
        made_at: now,
        answered_by: null,
      });
      statements.removeOldRequests.run(MAX_OPEN_REQUESTS);
      break;
    case 'set_usage_sequence':
      statements.setUsageSequence.run(change.sequence);
      break;
    case 'put_rules':
      statements.putRules.run(JSON.stringify(change.rules), now);
      target.rules = orNoRules(change.rules);
      break;
    case 'put_notice':
      statements.notice.put({ ...change.key, value: change.value });
      break;
    case 'remove_notice':
      statements.notice.remove(change.key);
      break;
    case 'set_webhook_cursor':
      statements.setWebhookCursor.run(change.position.seq, change.position.index);
      break;
    case 'put_secret':
    case 'reseal_secrets':
      applySecretChange(target, change);
      break;
    default:
      applyAccountChange(statements, now, change);
  }
}
