import { escapeHidden } from '@berth/protocol/hidden-characters';
import { type DiffLine, foldDiff } from '../../words/line-diff.ts';

const WORDS = { '+': 'Added: ', '-': 'Removed: ', ' ': '' } as const;
const CLASSES = { '+': 'added', '-': 'removed', ' ': '' } as const;

/** The lines that changed, with their neighbours. */
export function Diff({ lines, label }: { readonly lines: readonly DiffLine[]; readonly label: string }) {
  const folded = foldDiff(lines);
  if (folded.length === 0) return <p class="quiet">No line differs.</p>;
  return (
    <ol class="diff" aria-label={label}>
      {folded.map((line, index) =>
        line === null ? (
          <li key={index} class="quiet">
            …
          </li>
        ) : (
          <li key={index} class={CLASSES[line.sign]}>
            <span class="code-number" aria-hidden="true">
              {line.number}
            </span>
            <span class="sign" aria-hidden="true">
              {line.sign === '-' ? '−' : line.sign}
            </span>
            <code>
              <span class="hidden-text">{WORDS[line.sign]}</span>
              {escapeHidden(line.text) || ' '}
            </code>
          </li>
        ),
      )}
    </ol>
  );
}
