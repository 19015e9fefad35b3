import type { Change } from '../../../core/decision.ts';
import type { FeatureSlot } from '../../../core/nouns/feature-slot.ts';
import { COLLECT_LIMIT, type RememberedAnswer } from '../../../core/view.ts';
import { answerRow, featureSlotRow } from '../rows.ts';
import { mayHaveFeatureSlots, NO_END, noteFeatureEnd } from '../shelf.ts';
import { countOf } from '../sql.ts';
import type { ChangeTarget } from './change-target.ts';

/** The changes that concern consumption and feature slots. */
export type MeterChange = Extract<
  Change,
  {
    kind:
      | 'put_feature_slot'
      | 'remove_feature_slot'
      | 'remove_all_feature_slots'
      | 'end_feature_slots_by'
      | 'put_meter'
      | 'remember_answer'
      | 'remove_answers'
      | 'add_report'
      | 'mark_report_uncertain'
      | 'remove_report';
  }
>;

export function applyMeterChange(target: ChangeTarget, change: MeterChange): void {
  const { statements, entry } = target;
  const id = entry.license.id;
  switch (change.kind) {
    case 'put_feature_slot':
      putFeatureSlot(target, change.slot, change.isNew);
      break;
    case 'remove_feature_slot':
      statements.feature_slot.remove({ license_id: id, user: change.user, feature: change.feature });
      entry.meters.addInUse(statements, change.feature, -1);
      break;
    case 'remove_all_feature_slots':
      removeAllFeatureSlots(target);
      break;
    case 'end_feature_slots_by':
      statements.endFeatureSlotsBy.run({ id, feature: change.feature, endsBy: change.endsBy });
      if (mayHaveFeatureSlots(entry)) noteFeatureEnd(entry, change.endsBy);
      break;
    case 'put_meter':
      entry.meters.put({ ...entry.meters.get(statements, change.meter), ...change.meter });
      break;
    case 'remember_answer':
      rememberAnswer(target, change.answer, change.isNew);
      break;
    case 'remove_answers': {
      const stale = [change.answeredBy, id, COLLECT_LIMIT];
      target.answers.count -= countOf(statements.countStaleAnswers.get(...stale));
      statements.removeStaleAnswers.run(...stale);
      break;
    }
    case 'add_report': {
      const { id: reportId, feature, amount, cutAt } = change.report;
      const report = { id: reportId, license_id: id, feature, amount, cut_at: cutAt, uncertain_at: null };
      statements.report.add(report);
      break;
    }
    case 'mark_report_uncertain':
      statements.markReportUncertain.run(target.now, id, change.reportId);
      break;
    case 'remove_report':
      statements.removeReport.run(id, change.reportId);
      break;
  }
}

function putFeatureSlot({ statements, entry }: ChangeTarget, slot: FeatureSlot, isNew: boolean): void {
  statements.feature_slot.put(featureSlotRow(entry.license.id, slot));
  if (isNew) entry.meters.addInUse(statements, slot.feature, 1);
  noteFeatureEnd(entry, slot.endsAt);
}

function removeAllFeatureSlots({ statements, entry }: ChangeTarget): void {
  if (!mayHaveFeatureSlots(entry)) return;
  const { id } = entry.license;
  const features = statements.listFeaturesInUse.all(id).map(({ feature }) => feature);
  statements.removeAllFeatureSlots.run(id);
  entry.meters.clearInUse(statements, features);
  entry.noFeatureEndBefore = NO_END;
}

/** Room for new answers is made in larger steps, so that a full table does not cost every request. */
const ROOM_SHARE = 100;

function rememberAnswer(target: ChangeTarget, answer: RememberedAnswer, isNew: boolean): void {
  const { statements, entry, answers } = target;
  if (isNew && answers.count >= answers.limit) {
    const room = Math.ceil(answers.limit / ROOM_SHARE);
    statements.removeOldestAnswers.run(room);
    answers.count -= room;
  }
  statements.remembered_answer.put(answerRow(entry.license.id, answer));
  if (isNew) answers.count += 1;
}
