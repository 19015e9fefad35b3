import { escapeHidden } from '@berth/protocol/hidden-characters';
import { Shape } from '../../parts/shape.tsx';
import { type Rule, sayRule } from '../../words/rules.ts';

interface SentenceProps {
  readonly rule: Rule;
  /** Of the product. */
  readonly slots: number;
  /** It refuses people now. */
  readonly isLoud?: boolean;
}

/** A rule, with the names of groups in bold. */
export function Sentence({ rule, slots, isLoud = false }: SentenceProps) {
  return (
    <span class={isLoud ? 'loud-rule warning' : rule.is_active ? '' : 'quiet'} dir="auto">
      {isLoud && (
        <>
          <Shape level="warning" size={14} />
          <span class="hidden-text">Refuses now: </span>
        </>
      )}
      {sayRule(rule, slots).map(({ text, isName }, index) =>
        isName ? (
          <b key={index}>
            <bdi>{escapeHidden(text)}</bdi>
          </b>
        ) : (
          escapeHidden(text)
        ),
      )}
    </span>
  );
}
