import type { License } from '@berth/protocol/admin/licenses';
import { useEffect, useState } from 'preact/hooks';
import { ApiError } from '../../data/api.ts';
import { useLicenses } from '../../data/overview.ts';
import { setParams, usePlace } from '../../data/route.ts';
import { useRules } from '../../data/rules.ts';
import { may } from '../../data/session.ts';
import { Button } from '../../parts/button.tsx';
import type { Section as Found } from '../../parts/frame.tsx';
import { PageHead } from '../../parts/head.tsx';
import { Empty, ErrorBox, Show } from '../../parts/states.tsx';
import { Time } from '../../parts/time.tsx';
import { useIsNarrow } from '../../parts/virtual-rows.tsx';
import { exampleRules, giveUpSlot, type RulesInForce } from '../../words/rules.ts';
import { askToApply, type Notice } from './apply.ts';
import { BarList } from './bars.tsx';
import { DirectoryGroups } from './directory-groups.tsx';
import { DraftPart } from './draft-part.tsx';
import { goToLine } from './editor.tsx';
import { RulesHistory } from './history.tsx';
import { InForce } from './in-force.tsx';
import { OpenFile } from './open-file.tsx';
import { Overtaken } from './overtaken.tsx';
import { TrialPart } from './replay.tsx';
import { type RulesDraft, useChecked, useRulesDraft, useTrial } from './rules-draft.ts';

/** For the finder. */
export const RULE_SECTIONS: readonly Found[] = [
  { path: 'bars', label: 'Bars', words: 'barred deny block users hosts addresses' },
];

/** Who gets slots? */
export function Rules() {
  const rules = useRules();
  const licenses = useLicenses().data?.licenses ?? null;
  return (
    <div class="content">
      <Show of={rules} what="The rules" rows={10} hasHead>
        {(data) => <RulesOf data={data} licenses={licenses ?? []} onChange={rules.reload} />}
      </Show>
      <BarList />
    </div>
  );
}

interface RulesOfProps {
  readonly data: RulesInForce;
  readonly licenses: readonly License[];
  readonly onChange: () => void;
}

function RulesOf({ data, licenses, onChange }: RulesOfProps) {
  const { revision, text, file, file_error: fileError } = data;
  const isNarrow = useIsNarrow();
  const canChange = may('POST /api/admin/rules/apply') && file === null;
  const canEdit = canChange && !isNarrow;
  const draft = useRulesDraft(data, canEdit);
  const isEmpty = text.trim() === '' && !draft.isChanged;
  const trial = useTrial();
  useWish(draft, trial.start, canEdit);
  const { checked, error } = useChecked(draft.text, canEdit && !isEmpty);
  const [isOpening, setOpening] = useState(false);
  const [notice, setNotice] = useState<Notice | null>(null);
  const [hasHistory, setHistory] = useState(false);
  const apply = () => setNotice(askToApply({ data, draft, checked, trial, onChange }));
  return (
    <>
      <PageHead title="Rules" lead={<Lead data={data} isChanged={draft.isChanged} />}>
        {revision > 0 && !isNarrow && (
          <Button icon="clock" isExpanded={hasHistory} onClick={() => setHistory(!hasHistory)}>
            History
          </Button>
        )}
        {canEdit && !isEmpty && (
          <>
            <Button isBusy={trial.isRunning} onClick={() => trial.isRunning || trial.start(draft.text)}>
              Try on 30 days
            </Button>
            <Button as="primary" onClick={apply}>
              Apply as revision {revision + 1}
            </Button>
          </>
        )}
      </PageHead>
      {notice !== null && notice.text === draft.text && <NoticeLine notice={notice} />}
      {fileError !== null && (
        <ErrorBox
          title="The rules file is not applied. The rules before it stay in force."
          error={new ApiError(0, 'rules_file', fileError)}
        />
      )}
      {draft.isOvertaken && <Overtaken data={data} draft={draft} />}
      {isEmpty ? (
        <NoRules licenses={licenses} canEdit={canEdit} draft={draft} onOpen={() => setOpening(true)} />
      ) : (
        <>
          <InForce rules={data.rules} licenses={licenses} />
          <DirectoryGroups groups={data.directory_groups} />
          <div class={canEdit ? 'columns rules-columns' : ''}>
            <div>
              <DraftPart {...{ data, draft, checked, error, canEdit }} onOpen={() => setOpening(true)} />
            </div>
            {canEdit && (
              <div>
                <TrialPart {...{ trial, revision, draft }} />
              </div>
            )}
          </div>
        </>
      )}
      {(hasHistory || (isNarrow && revision > 0)) && (
        <RulesHistory revision={revision} canRevert={canChange} onRevert={onChange} />
      )}
      {isOpening && <OpenFile onText={draft.set} onClose={() => setOpening(false)} />}
    </>
  );
}

/** A link may bring a change to try: one slot fewer in a line. */
function useWish(draft: RulesDraft, start: (text: string) => unknown, canEdit: boolean): void {
  const line = Number(usePlace().params.get('fewer'));
  useEffect(() => {
    if (line === 0) return;
    setParams({ fewer: null });
    const fewer = canEdit && !draft.isChanged ? giveUpSlot(draft.text, line) : null;
    if (fewer !== null) {
      draft.set(fewer.text);
      void start(fewer.text);
    }
    // The screen goes to its top first.
    requestAnimationFrame(() => goToLine(line));
  }, [line]);
}

/** What is missing before the draft can be applied. */
function NoticeLine({ notice: { message, line } }: { readonly notice: Notice }) {
  return (
    <p class="notice-line" role="alert">
      {message}{' '}
      {line !== null && (
        <Button as="link" onClick={() => goToLine(line)}>
          Go to line {line}
        </Button>
      )}
    </p>
  );
}

function Lead({ data, isChanged }: { readonly data: RulesInForce; readonly isChanged: boolean }) {
  const { revision, at, file } = data;
  if (revision === 0 && file === null) {
    return <>There are no rules.{isChanged && ' Your draft is not in force.'}</>;
  }
  return (
    <>
      Revision {revision} has been in force since <Time at={at} />.{isChanged && ' Your draft is not.'}
      {file === null && !may('POST /api/admin/rules/apply') && ' Administrators can change it.'}
    </>
  );
}

interface NoRulesProps {
  readonly licenses: readonly License[];
  readonly canEdit: boolean;
  readonly draft: RulesDraft;
  readonly onOpen: () => void;
}

function NoRules({ licenses, canEdit, draft, onOpen }: NoRulesProps) {
  const product = licenses.find(({ floating_users }) => floating_users > 0)?.product ?? 'cad-pro';
  return (
    <Empty title="Whoever asks first gets a slot">
      <p>Rules reserve slots for a team, limit others, and say who may borrow.</p>
      {canEdit && (
        <div class="empty-actions">
          <Button as="primary" onClick={() => draft.set(exampleRules(product))}>
            Start from an example
          </Button>
          <Button onClick={onOpen}>Import an options file…</Button>
        </div>
      )}
    </Empty>
  );
}
