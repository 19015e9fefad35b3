import type { Change, SystemChange } from '../../../core/decision.ts';
import type { Instant } from '../../../core/nouns/instant.ts';
import type { License } from '../../../core/nouns/license.ts';
import type { Registration } from '../../../core/nouns/registration.ts';
import { orNoRules, type Rules } from '../../../core/rules/rules.ts';
import type { MasterKey } from '../../../secrets/seal.ts';
import { originToKey } from '../rows.ts';
import { applySecretChange } from '../sealed-secrets.ts';
import { noteEnd, type Shelf, type ShelfEntry } from '../shelf.ts';
import type { Statements } from '../statements.ts';
import { applyAccountChange } from './apply-account.ts';
import { applyBorrowChange } from './apply-borrow.ts';
import { applyMeterChange } from './apply-meter.ts';

/** How many first answers are remembered, counted along so that nobody has to count rows. */
export interface AnswerCount {
  count: number;
  readonly limit: number;
}

/** Requests that nobody answers are forgotten one day; answered ones never are. */
const MAX_OPEN_REQUESTS = 1000;

/** What a change is applied to. */
export interface ChangeTarget {
  readonly statements: Statements;
  readonly shelf: Shelf;
  readonly entry: ShelfEntry;
  readonly now: Instant;
  readonly answers: AnswerCount;
}

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
      putRegistration(statements, entry, change.registration);
      break;
    case 'renew_registration':
      statements.renewRegistration.run(change.endsAt, id, change.user);
      noteEnd(entry, change.endsAt);
      break;
    case 'remove_registration':
      statements.removeRegistration.run(id, change.user);
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
    case 'put_denial': {
      const { user, feature, code, deniedAt, repeated } = change.denial;
      statements.putDenial.run(id, user, feature, code, deniedAt, repeated);
      break;
    }
    case 'remove_denial': {
      const { user, feature, code } = change.denial;
      statements.removeDenial.run(id, user, feature, code);
      break;
    }
    case 'put_place_denial': {
      const { place, code, deniedAt, recorded, repeated } = change.denial;
      statements.putPlaceDenial.run(id, place, code, deniedAt, recorded, repeated);
      break;
    }
    case 'remove_place_denial':
      statements.removePlaceDenial.run(id, change.denial.place, change.denial.code);
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

function putRegistration(statements: Statements, entry: ShelfEntry, registration: Registration): void {
  const { user, spelling = null, host, registeredAt, endsAt, borrowedUntil, credential } = registration;
  const { hostname, address, info } = host;
  const times = [registeredAt, endsAt, borrowedUntil] as const;
  const origin = originToKey(registration.origin);
  const id = entry.license.id;
  statements.putRegistration.run(id, user, hostname, address, info, ...times, origin, credential, spelling);
  noteEnd(entry, endsAt);
}

export function applySystemChange(target: SystemTarget, change: SystemChange): void {
  const { statements, now } = target;
  switch (change.kind) {
    case 'add_request':
      statements.addRequest.run(change.requestId, change.request, change.product, now);
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
      statements.putNotice.run(change.key.kind, change.key.subject, change.value);
      break;
    case 'remove_notice':
      statements.removeNotice.run(change.key.kind, change.key.subject);
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
