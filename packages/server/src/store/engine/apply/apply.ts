import type { Change, Decision } from '../../../core/decision.ts';
import { later } from '../../../core/nouns/instant.ts';
import { COLLECT_LIMIT } from '../../../core/view.ts';
import type { Executed } from '../../store.ts';
import { eventText } from '../audit/audit-chain.ts';
import type { Batch } from '../batch.ts';
import { countFeature, countPut, countRemoved, forgetCounts } from '../counts/count-slots.ts';
import { thinHistory } from '../history/write-history.ts';
import { totalsOf } from '../load/load-view.ts';
import {
  type LoadedLicense,
  mayHaveFeatureSlots,
  NO_END,
  noteEnd,
  noteFeatureEnd,
} from '../loaded-licenses.ts';
import {
  answerRow,
  denialRow,
  endedBorrowRow,
  featureSlotRow,
  placeDenialRow,
  registrationRow,
} from '../rows.ts';
import { countOf } from '../sql.ts';

/** What a change is applied to. */
interface ChangeTarget extends Pick<Batch, 'statements' | 'licenses' | 'now' | 'answers' | 'rules'> {
  readonly entry: LoadedLicense;
}

/** What to do for each kind of change. */
export type Appliers<T, C extends { readonly kind: string }> = {
  readonly [K in C['kind']]: (target: T, change: Extract<C, { kind: K }>) => void;
};

/** Old answers are removed in larger steps, so that a full table does not slow down every request. */
const ROOM_SHARE = 100;

const APPLY: Appliers<ChangeTarget, Change> = {
  put_registration(target, { registration, before }) {
    const { statements, entry } = target;
    if (entry.counts !== null) countPut(target, entry, registration, before);
    statements.registration.put(registrationRow(entry.license.id, registration));
    noteEnd(entry, registration.endsAt);
  },
  renew_registration({ statements, entry }, { user, endsAt }) {
    statements.registration.renew({ license_id: entry.license.id, user }, endsAt);
    noteEnd(entry, endsAt);
  },
  remove_registration(target, { registration }) {
    const { statements, entry } = target;
    if (entry.counts !== null) countRemoved(target, entry, registration);
    statements.registration.remove({ license_id: entry.license.id, user: registration.user });
  },
  remove_live_registrations({ statements, entry, now }) {
    forgetCounts(entry);
    statements.removeLiveRegistrations.run(entry.license.id, now);
  },
  end_registrations_by({ statements, entry, now }, change) {
    // Until now they were held, whatever the license says today.
    const endsBy = later(change.endsBy, now);
    statements.endRegistrationsBy.run({ id: entry.license.id, endsBy });
    noteEnd(entry, endsBy);
  },
  set_in_use({ entry }, { inUse }) {
    entry.storedInUse = inUse;
    entry.isChanged = true;
  },

  keep_borrow({ statements, entry, now }, { borrow }) {
    statements.ended_borrow.put(endedBorrowRow(entry.license.id, borrow, now));
  },
  trim_borrows({ statements, entry }, { kept }) {
    statements.trimEndedBorrows.run({ id: entry.license.id, kept });
  },
  forget_borrow({ statements, entry }, { user, feature }) {
    statements.removeEndedBorrows.run({ id: entry.license.id, user, feature });
  },
  forget_all_borrows({ statements, entry }) {
    statements.removeAllEndedBorrows.run(entry.license.id);
  },

  put_license({ statements, licenses, entry, now }, { license }) {
    const { order, head } = entry;
    const { id, product } = license;
    if (product !== entry.license.product) forgetCounts(entry);
    statements.putLicense.run({ id, product, facts: JSON.stringify(license), order, now, mac: head.mac });
    licenses.replaceLicense(entry, license);
  },
  remove_license({ statements, licenses, entry, now }) {
    statements.removeLicense.run(now, entry.license.id);
    licenses.setRemoved(entry, now);
  },
  void_requests({ statements, entry }, { product }) {
    statements.voidRequests.run(entry.license.id, product);
  },
  answer_request({ statements, entry }, { requestId }) {
    statements.answerRequest.run(entry.license.id, requestId);
  },

  put_denial({ statements, entry }, { denial }) {
    statements.denial.put(denialRow(entry.license.id, denial));
  },
  remove_denial({ statements, entry }, { denial }) {
    statements.denial.remove(denialRow(entry.license.id, denial));
  },
  put_place_denial({ statements, entry }, { denial }) {
    statements.place_denial.put(placeDenialRow(entry.license.id, denial));
  },
  remove_place_denial({ statements, entry }, { denial }) {
    statements.place_denial.remove(placeDenialRow(entry.license.id, denial));
  },

  put_feature_slot(target, { slot, isNew }) {
    const { statements, entry } = target;
    if (isNew) countFeature(target, entry, slot, 1);
    statements.feature_slot.put(featureSlotRow(entry.license.id, slot));
    if (isNew) entry.meters.addInUse(statements, slot.feature, 1);
    noteFeatureEnd(entry, slot.endsAt);
  },
  remove_feature_slot(target, { user, feature }) {
    const { statements, entry } = target;
    countFeature(target, entry, { feature, user }, -1);
    statements.feature_slot.remove({ license_id: entry.license.id, user, feature });
    entry.meters.addInUse(statements, feature, -1);
  },
  remove_all_feature_slots(target) {
    const { statements, entry } = target;
    if (!mayHaveFeatureSlots(entry)) return;
    forgetCounts(entry);
    const { id } = entry.license;
    const features = statements.listFeaturesInUse.all(id).map(({ feature }) => feature);
    statements.removeAllFeatureSlots.run(id);
    entry.meters.clearInUse(statements, features);
    entry.noFeatureEndBefore = NO_END;
  },
  end_feature_slots_by({ statements, entry, now }, { feature, ...change }) {
    const endsBy = later(change.endsBy, now);
    statements.endFeatureSlotsBy.run({ id: entry.license.id, feature, endsBy });
    if (mayHaveFeatureSlots(entry)) noteFeatureEnd(entry, endsBy);
  },

  put_meter({ statements, entry }, { meter }) {
    entry.meters.put({ ...entry.meters.get(statements, meter), ...meter });
  },
  remember_answer({ statements, entry, answers }, { answer, isNew }) {
    if (isNew && answers.count >= answers.limit) {
      const room = Math.ceil(answers.limit / ROOM_SHARE);
      statements.removeOldestAnswers.run(room);
      answers.count -= room;
    }
    statements.remembered_answer.put(answerRow(entry.license.id, answer));
    if (isNew) answers.count += 1;
  },
  remove_answers({ statements, entry, answers }, { answeredBy }) {
    const stale = [answeredBy, entry.license.id, COLLECT_LIMIT];
    answers.count -= countOf(statements.countStaleAnswers.get(...stale));
    statements.removeStaleAnswers.run(...stale);
  },
  add_report({ statements, entry }, { report }) {
    const { id, feature, amount, cutAt, uncertainAt } = report;
    statements.report.add({
      id,
      license_id: entry.license.id,
      feature,
      amount,
      cut_at: cutAt,
      uncertain_at: uncertainAt,
    });
  },
  mark_report_uncertain({ statements, entry, now }, { reportId }) {
    statements.markReportUncertain.run(now, entry.license.id, reportId);
  },
  remove_report({ statements, entry }, { reportId }) {
    statements.removeReport.run(entry.license.id, reportId);
  },
  thin_history({ statements, entry }, { step }) {
    thinHistory(statements, entry.license.id, step);
  },
};

/** They write one row, of a table whose writes `Savepoint` counts. */
const ROW: ReadonlySet<Change['kind']> = new Set([
  'put_registration',
  'renew_registration',
  'remove_registration',
  'put_denial',
  'put_place_denial',
]);

/** Written with the license when the batch is committed. */
const IN_MEMORY: ReadonlySet<Change['kind']> = new Set(['set_in_use', 'put_meter']);

/**
 * Returns whether the changes write at most one row now. That the earlier borrow of a registration is
 * forgotten then makes no difference: no constraint can prevent it.
 */
function isOneRow(changes: readonly Change[]): boolean {
  let rows = 0;
  for (const { kind } of changes) {
    if (IN_MEMORY.has(kind) || (kind === 'forget_borrow' && rows === 1)) continue;
    rows += 1;
    if (rows > 1 || !ROW.has(kind)) return false;
  }
  return true;
}

/** Writes what was decided about a license. It decides nothing itself. */
export function applyDecision(batch: Batch, entry: LoadedLicense, decision: Decision): Executed {
  const { changes, events, outcome, history } = decision;
  const { statements, licenses, now, answers, rules } = batch;
  // First: an event that cannot be written must fail the command before it has changed anything.
  for (const event of events) entry.events.push(eventText(event));
  if (!isOneRow(changes)) batch.savepoint.set();
  const target = { statements, licenses, entry, now, answers, rules };
  for (const change of changes) applyChange(target, change);
  for (const event of history ?? []) entry.history.push(event);
  if (changes.length > 0 || events.length > 0) {
    batch.isChanged = true;
    entry.isTouched = true;
  }
  if (outcome.kind !== 'granted') return outcome;
  const { license, registration, inUse } = outcome;
  const totals = totalsOf(statements, entry, now);
  return { kind: 'granted', license, registration, inUse, now: outcome.now, totals };
}

function applyChange(target: ChangeTarget, change: Change): void {
  const apply = APPLY[change.kind] as (target: ChangeTarget, change: Change) => void;
  apply(target, change);
}
