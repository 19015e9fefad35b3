import type { Change } from '../../../core/decision.ts';
import type { FeatureSlot } from '../../../core/nouns/feature-slot.ts';
import { COLLECT_LIMIT, type RememberedAnswer } from '../../../core/view.ts';
import { mayHaveFeatureSlots, NO_END, noteFeatureEnd } from '../shelf.ts';
import type { ChangeTarget } from './apply.ts';

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
      statements.removeFeatureSlot.run(id, change.user, change.feature);
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
    case 'remove_answers':
      target.answers.count -= Number(
        statements.removeStaleAnswers.run(change.answeredBy, id, COLLECT_LIMIT).changes,
      );
      break;
    case 'add_report': {
      const { id: reportId, feature, amount, cutAt } = change.report;
      statements.addReport.run(reportId, id, feature, amount, cutAt);
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
  const { user, feature, registeredAt, endsAt, borrowedUntil } = slot;
  statements.putFeatureSlot.run(entry.license.id, user, feature, registeredAt, endsAt, borrowedUntil);
  if (isNew) entry.meters.addInUse(statements, feature, 1);
  noteFeatureEnd(entry, endsAt);
}

function removeAllFeatureSlots({ statements, entry }: ChangeTarget): void {
  if (!mayHaveFeatureSlots(entry)) return;
  const { id } = entry.license;
  const features = statements.listFeaturesInUse.all(id).map((row) => row.feature as string);
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
    answers.count -= Number(statements.removeOldestAnswers.run(room).changes);
  }
  const { operation, user, key, bodyHash, answeredAt, outcome } = answer;
  const { id } = entry.license;
  statements.rememberAnswer.run(id, operation, user, key, bodyHash, answeredAt, JSON.stringify(outcome));
  if (isNew) answers.count += 1;
}
