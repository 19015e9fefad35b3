import { post, toApiError } from '../../data/api.ts';
import { ask } from '../../parts/dialog.tsx';
import { showToast } from '../../parts/toasts.tsx';
import { countDiff, diffLines } from '../../words/line-diff.ts';
import { listRemarks } from '../../words/remarks.ts';
import { sayReplay } from '../../words/replay.ts';
import type { RulesInForce } from '../../words/rules.ts';
import { plural } from '../../words/time.ts';
import { revertTo } from './history.tsx';
import type { Checked, RulesDraft, Trial } from './rules-draft.ts';

/** What is missing before the draft can be applied. */
export interface Notice {
  readonly message: string;
  readonly line: number | null;
  /** It is about this text. */
  readonly text: string;
}

interface Wish {
  readonly data: RulesInForce;
  readonly draft: RulesDraft;
  readonly checked: Checked | null;
  readonly trial: Trial;
  readonly onChange: () => void;
}

/** Asks before the draft is applied; or says what is missing. */
export function askToApply(wish: Wish): Notice | null {
  const { data, draft, checked, trial } = wish;
  const missing = findMissing(wish);
  if (missing !== null) return { ...missing, text: draft.text };
  const { added, removed } = countDiff(diffLines(draft.base, draft.text));
  const warnings = checked?.text === draft.text ? checked.warnings.length : 0;
  const tried = trial.result?.text === draft.text ? sayReplay(trial.result.replay) : 'Not tried.';
  ask({
    title: `Apply as revision ${data.revision + 1}?`,
    text: 'It decides about every request from now on. Slots that are held stay held.',
    facts: [
      ['Changes', `${plural(added, 'line')} added, ${removed} removed`],
      ['Warnings', String(warnings)],
      ['Last 30 days', tried],
    ],
    verb: 'Apply',
    isDangerous: false,
    act: () => apply(wish),
  });
  return null;
}

function findMissing({ data, draft, checked }: Wish): Omit<Notice, 'text'> | null {
  const { revision } = data;
  if (!draft.isChanged) {
    return {
      message: `There is nothing to apply: this is revision ${revision}, which is in force.`,
      line: null,
    };
  }
  if (draft.isOvertaken) {
    const message = `Revision ${revision} is newer than your draft. Compare both below first.`;
    return { message, line: null };
  }
  const remarks = checked?.text === draft.text ? listRemarks(checked) : [];
  const error = remarks.find(({ level }) => level === 'critical');
  if (error === undefined) return null;
  return { message: `Not applied: the draft has an error. ${error.message}`, line: error.line };
}

async function apply({ data, draft, onChange }: Wish): Promise<void> {
  const { revision: before } = data;
  try {
    const body = { text: draft.text, based_on: draft.basedOn };
    const { revision, is_new: isNew } = await post('/api/admin/rules/apply', body);
    draft.discard();
    onChange();
    if (!isNew) return showToast('That text was in force already.');
    showToast(`Revision ${revision} is in force.`, async () => {
      await revertTo(before);
      onChange();
    });
  } catch (failure) {
    // The newer revision is shown beside the draft.
    onChange();
    if (toApiError(failure).code !== 'rules_changed') throw failure;
  }
}
