import type { GetAnswer } from '@berth/protocol/admin/admin-api';
import { useState } from 'preact/hooks';
import { post } from '../../data/api.ts';
import { useResource } from '../../data/resource.ts';
import { Button } from '../../parts/button.tsx';
import { ask } from '../../parts/dialog.tsx';
import { Section } from '../../parts/head.tsx';
import { Name } from '../../parts/name.tsx';
import { Show } from '../../parts/states.tsx';
import { Time } from '../../parts/time.tsx';
import { showToast } from '../../parts/toasts.tsx';
import { readDiff } from '../../words/line-diff.ts';
import { formatNumber } from '../../words/numbers.ts';
import { plural } from '../../words/time.ts';
import { Diff } from './diff.tsx';

type Revision = GetAnswer<'/api/admin/rules/history'>['revisions'][number];

/** How many revisions are listed before the rest is asked for. */
const SHOWN = 8;

interface HistoryProps {
  /** In force. */
  readonly revision: number;
  readonly canRevert: boolean;
  readonly onRevert: () => void;
}

export function RulesHistory({ revision, canRevert, onRevert }: HistoryProps) {
  const history = useResource('/api/admin/rules/history', {}, { isLive: true });
  const [chosen, setChosen] = useState<number | null>(null);
  const [isOpen, setOpen] = useState(false);
  return (
    <Section title="History" note="each revision is in the audit log">
      <Show of={history} what="The history of the rules">
        {({ revisions }) => {
          if (revisions.length === 0) return <p class="quiet">There have never been rules.</p>;
          const shown = isOpen ? revisions : revisions.slice(0, SHOWN);
          const opened = chosen ?? revision;
          return (
            <div class="columns equal">
              <div>
                <ul class="revisions">
                  {shown.map((one) => (
                    <RevisionLine
                      key={one.revision}
                      one={one}
                      isChosen={one.revision === opened}
                      onChoose={() => setChosen(one.revision)}
                    />
                  ))}
                </ul>
                {shown.length < revisions.length && (
                  <p class="gap-small">
                    <Button as="link" onClick={() => setOpen(true)}>
                      Show {plural(revisions.length - shown.length, 'earlier revision')}
                    </Button>
                  </p>
                )}
              </div>
              <OneRevision {...{ opened, revision, canRevert, onRevert }} />
            </div>
          );
        }}
      </Show>
    </Section>
  );
}

interface RevisionLineProps {
  readonly one: Revision;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}

function RevisionLine({ one, isChosen, onChoose }: RevisionLineProps) {
  return (
    <li>
      <button type="button" aria-pressed={isChosen} onClick={onChoose}>
        <b>{one.revision}</b>
        <span class="nowrap">
          <span class="good">
            +{formatNumber(one.added)}
            <span class="hidden-text"> lines</span>
          </span>{' '}
          <span class="critical">−{formatNumber(one.removed)}</span>
        </span>
        <span class="who">
          <Name text={one.by} />
        </span>
        <Time at={one.at} />
      </button>
    </li>
  );
}

interface OneRevisionProps extends HistoryProps {
  readonly opened: number;
}

/** What a revision changed. */
function OneRevision({ opened, revision, canRevert, onRevert }: OneRevisionProps) {
  const found = useResource('/api/admin/rules/revision', { revision: opened });
  const isInForce = opened === revision;
  const target = isInForce ? opened - 1 : opened;
  return (
    <div class="revision">
      <div class="section-head">
        <h3>Revision {opened}</h3>
        <span class="note">
          {isInForce && 'in force'}
          {opened > 1 && `${isInForce ? ', ' : ''}compared with ${opened - 1}`}
        </span>
        {canRevert && target > 0 && (
          <span class="end">
            <Button icon="undo" onClick={() => askToRevert(target, revision, onRevert)}>
              Revert to {target}…
            </Button>
          </span>
        )}
      </div>
      <Show of={found} what={`Revision ${opened}`}>
        {({ diff }) => <Diff lines={readDiff(diff)} label={`What revision ${opened} changed`} />}
      </Show>
      <p class="small quiet gap-small">Slots that are held stay held, whichever revision is in force.</p>
    </div>
  );
}

function askToRevert(target: number, revision: number, onRevert: () => void): void {
  ask({
    title: `Revert to revision ${target}?`,
    text: 'Its text is applied again, as a new revision. Slots that are held stay held.',
    verb: 'Revert',
    isDangerous: false,
    act: async () => {
      const { revision: made } = await revertTo(target);
      onRevert();
      showToast(`Revision ${made} is in force, with the text of revision ${target}.`, async () => {
        await revertTo(revision);
        onRevert();
      });
    },
  });
}

/** Rules that say nothing: a text must not be empty. */
const NO_RULES = 'deny: {}\n';

/** Before the first revision there were no rules. */
export function revertTo(revision: number): Promise<{ readonly revision: number }> {
  return revision === 0
    ? post('/api/admin/rules/apply', { text: NO_RULES })
    : post('/api/admin/rules/revert', { revision });
}
