import { Button } from '../../parts/button.tsx';
import { Shape } from '../../parts/shape.tsx';
import { splitLine } from '../../words/highlight.ts';
import type { Remark } from '../../words/remarks.ts';

interface CodeProps {
  readonly text: string;
  /** Lines that differ from the revision in force. */
  readonly changed: ReadonlySet<number>;
  readonly remarks: readonly Remark[];
}

/** The text with colours and numbers, and what is said about its lines. */
function Code({ text, changed, remarks }: CodeProps) {
  return (
    <div class="code-lines">
      {text.split('\n').map((line, index) => {
        const number = index + 1;
        const remark = remarks.find((one) => one.line === number);
        const marks = [
          changed.has(number) ? 'changed' : '',
          remark === undefined ? '' : `is-${remark.level}`,
        ];
        return (
          <div key={index} class={`code-line ${marks.join(' ')}`} data-line={number}>
            <span class="code-number" aria-hidden="true">
              {number}
            </span>
            <CodeLine line={line} wrongAt={remark?.column ?? null} />
            {remark !== undefined && (
              <span
                class="code-note"
                aria-hidden="true"
                style={{ left: `calc(${line.length + 3}ch + 44px)` }}
              >
                {remark.message}
              </span>
            )}
          </div>
        );
      })}
    </div>
  );
}

function CodeLine({ line, wrongAt }: { readonly line: string; readonly wrongAt: number | null }) {
  let from = 0;
  return (
    <>
      {splitLine(line).map(({ kind, text }, index) => {
        const isWrong = wrongAt !== null && from < wrongAt && wrongAt <= from + text.length;
        from += text.length;
        return (
          <span key={index} class={`code-${kind}${isWrong ? ' code-wrong' : ''}`}>
            {text}
          </span>
        );
      })}
      {line === '' && ' '}
    </>
  );
}

interface CodeViewProps extends CodeProps {
  readonly label: string;
}

/** To be read. */
export function CodeView({ label, ...code }: CodeViewProps) {
  return (
    <section class="code" aria-label={label}>
      <Code {...code} />
    </section>
  );
}

interface EditorProps extends CodeViewProps {
  readonly onInput: (text: string) => void;
  readonly onCaret: (line: number, column: number) => void;
}

const TEXT = 'rules-text';

/** A text field that shows only its caret, exactly on top of the coloured text. */
export function Editor({ label, onInput, onCaret, ...code }: EditorProps) {
  const tell = ({ currentTarget: area }: { readonly currentTarget: HTMLTextAreaElement }) => {
    const before = area.value.slice(0, area.selectionStart).split('\n');
    onCaret(before.length, (before.at(-1) as string).length + 1);
  };
  return (
    <div class="code">
      <div aria-hidden="true">
        <Code {...code} />
      </div>
      <textarea
        id={TEXT}
        class="code-field"
        aria-label={label}
        aria-describedby={REMARKS}
        aria-invalid={code.remarks.some(({ level }) => level === 'critical')}
        value={code.text}
        spellcheck={false}
        autoComplete="off"
        autoCapitalize="none"
        onInput={(event) => {
          onInput(event.currentTarget.value);
          tell(event);
        }}
        onKeyDown={keepIndent}
        onKeyUp={tell}
        onClick={tell}
      />
    </div>
  );
}

/** A new line begins where the one before it does. */
function keepIndent(event: KeyboardEvent & { readonly currentTarget: HTMLTextAreaElement }): void {
  if (event.key !== 'Enter' || event.isComposing) return;
  const { value, selectionStart } = event.currentTarget;
  const line = value.slice(value.lastIndexOf('\n', selectionStart - 1) + 1, selectionStart);
  const indent = line.slice(0, line.length - line.trimStart().length);
  if (indent === '') return;
  event.preventDefault();
  // The only way that can be undone with the browser's own keys.
  document.execCommand('insertText', false, `\n${indent}`);
}

/** Shows a line, and selects it where it can be edited. */
export function goToLine(line: number): void {
  const found = document.querySelector(`[data-line="${line}"]`);
  const area = document.getElementById(TEXT);
  if (area instanceof HTMLTextAreaElement) {
    const lines = area.value.split('\n');
    const start = lines.slice(0, line - 1).reduce((sum, { length }) => sum + length + 1, 0);
    area.focus({ preventScroll: true });
    area.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
  }
  found?.scrollIntoView({ block: 'center' });
}

export function LineLink({ line }: { readonly line: number }) {
  return (
    <Button as="link" onClick={() => goToLine(line)}>
      line {line}
    </Button>
  );
}

const REMARKS = 'rules-remarks';

/** Errors, warnings and examples that do not hold, below the text. */
export function Remarks({ remarks }: { readonly remarks: readonly Remark[] }) {
  return (
    <ul class="remarks" id={REMARKS} aria-label="Errors and warnings" hidden={remarks.length === 0}>
      {remarks.map(({ level, line, message }, index) => (
        <li key={index}>
          <Shape level={level} />
          <span class={`grow ${level}`}>
            <span class="hidden-text">{level === 'critical' ? 'Error: ' : 'Warning: '}</span>
            {line !== null && `Line ${line}: `}
            {message}
          </span>
          {line !== null && (
            <Button as="link" onClick={() => goToLine(line)}>
              Go to line {line}
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}
