import { useState } from 'preact/hooks';
import type { ApiError } from '../../data/api.ts';
import { Button } from '../../parts/button.tsx';
import { Section } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { State } from '../../parts/shape.tsx';
import { countDiff, diffLines, listChanged } from '../../words/line-diff.ts';
import { listRemarks, type Remark, sayExamples } from '../../words/remarks.ts';
import type { RulesInForce } from '../../words/rules.ts';
import { formatClock, plural } from '../../words/time.ts';
import { Diff } from './diff.tsx';
import { CodeView, Editor, Remarks } from './editor.tsx';
import type { Checked, RulesDraft } from './rules-draft.ts';

interface DraftPartProps {
  readonly data: RulesInForce;
  readonly draft: RulesDraft;
  readonly checked: Checked | null;
  /** Why it could not be checked. */
  readonly error: ApiError | null;
  readonly canEdit: boolean;
  readonly onOpen: () => void;
}

/** What am I changing? */
export function DraftPart({ data, draft, checked, error, canEdit, onOpen }: DraftPartProps) {
  const [caret, setCaret] = useState<readonly [number, number] | null>(null);
  const [showsDiff, setShowsDiff] = useState(false);
  const diff = diffLines(draft.base, draft.text);
  const remarks = remarksOf(data, draft, canEdit ? checked : null);
  const code = { text: draft.text, changed: listChanged(diff), remarks };
  const title = draft.isChanged ? 'Draft' : 'Text';
  const end = canEdit && (
    <>
      {draft.isChanged && (
        <Button as="link" isExpanded={showsDiff} onClick={() => setShowsDiff(!showsDiff)}>
          {showsDiff ? 'Hide changes' : 'Show changes'}
        </Button>
      )}
      <Button as="link" onClick={onOpen}>
        Open a file…
      </Button>
      {draft.isChanged && (
        <Button as="link" onClick={draft.discard}>
          Discard
        </Button>
      )}
    </>
  );
  return (
    <Section title={title} note={sayState(data, draft, diff)} end={end}>
      {data.file !== null && (
        <p class="file-line">
          <Icon name="lock" size={14} />
          <span>
            The file <code>{data.file}</code> rules. Edit it there: it is applied whenever it changes.
          </span>
        </p>
      )}
      {showsDiff && draft.isChanged && <Diff lines={diff} label="What the draft changes" />}
      <div class="code-box-whole">
        {canEdit ? (
          <Editor
            {...code}
            label="Rules"
            onInput={draft.set}
            onCaret={(line, column) => setCaret([line, column])}
          />
        ) : (
          <CodeView {...code} label="Rules" />
        )}
        <Remarks remarks={remarks} />
        {canEdit && <Foot {...{ draft, checked, error, remarks, caret }} />}
      </div>
    </Section>
  );
}

/** What is known about an older text may be about other lines. */
function remarksOf(data: RulesInForce, draft: RulesDraft, checked: Checked | null): readonly Remark[] {
  if (checked?.text === draft.text) return listRemarks(checked);
  if (draft.isChanged) return [];
  return listRemarks({ errors: [], warnings: data.warnings, expectations: [] });
}

function sayState({ revision }: RulesInForce, draft: RulesDraft, diff: ReturnType<typeof diffLines>): string {
  if (!draft.isChanged) return `revision ${revision}, as it is in force`;
  const { added, removed } = countDiff(diff);
  if (draft.basedOn === 0) return plural(added, 'line');
  return `${plural(added, 'line')} added, ${removed} removed since revision ${draft.basedOn}`;
}

interface FootProps {
  readonly draft: RulesDraft;
  readonly checked: Checked | null;
  readonly error: ApiError | null;
  readonly remarks: readonly Remark[];
  readonly caret: readonly [number, number] | null;
}

function Foot({ draft, checked, error, remarks, caret }: FootProps) {
  const count = (wanted: Remark['level']) => remarks.filter(({ level }) => level === wanted).length;
  const isCurrent = checked?.text === draft.text;
  const examples = isCurrent ? sayExamples(checked) : '';
  const areRight = isCurrent && checked.expectations.every(({ ok }) => ok);
  return (
    <div class="code-foot" role="status">
      {error !== null ? (
        <State level="critical" word={`Not checked: ${error.message}`} />
      ) : isCurrent ? (
        <State level="ok" word={`Checked at ${formatClock(checked.at)}`} />
      ) : (
        <span class="quiet">Checking…</span>
      )}
      {count('critical') > 0 && <State level="critical" word={plural(count('critical'), 'error')} />}
      {count('warning') > 0 && <State level="warning" word={plural(count('warning'), 'warning')} />}
      {examples !== '' && <State level={areRight ? 'ok' : 'critical'} word={examples} />}
      {caret !== null && (
        <span class="end" aria-hidden="true">
          Line {caret[0]}, column {caret[1]}
        </span>
      )}
    </div>
  );
}
