import { Button } from '../../parts/button.tsx';
import { Name } from '../../parts/name.tsx';
import { Shape } from '../../parts/shape.tsx';
import { Time } from '../../parts/time.tsx';
import { diffLines } from '../../words/line-diff.ts';
import type { RulesInForce } from '../../words/rules.ts';
import { Diff } from './diff.tsx';
import type { RulesDraft } from './rules-draft.ts';

interface OvertakenProps {
  readonly data: RulesInForce;
  readonly draft: RulesDraft;
}

/** A newer revision came into force while a draft was written: both are shown, and neither is overwritten. */
export function Overtaken({ data, draft }: OvertakenProps) {
  const { revision, by, at, text } = data;
  return (
    <div class="box pad overtaken" role="alert">
      <p>
        <Shape level="warning" />
        <span>
          <b>Revision {revision} is newer than your draft.</b> It is in force since <Time at={at} />
          {by !== null && (
            <>
              , by <Name text={by} />
            </>
          )}
          . Your draft changes revision {draft.basedOn} and is not applied.
        </span>
      </p>
      <div class="columns equal">
        <div>
          <h3>What revision {revision} changed</h3>
          <Diff lines={diffLines(draft.base, text)} label={`What revision ${revision} changed`} />
        </div>
        <div>
          <h3>What your draft changes</h3>
          <Diff lines={diffLines(draft.base, draft.text)} label="What your draft changes" />
        </div>
      </div>
      <div class="actions">
        <Button onClick={draft.rebase}>Compare my draft with revision {revision}</Button>
        <Button onClick={draft.discard}>Discard my draft</Button>
      </div>
    </div>
  );
}
