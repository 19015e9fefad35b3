import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { createValue, useValue } from '../data/value.ts';
import { Button } from './button.tsx';
import { Facts } from './facts.tsx';
import { useSend } from './form.tsx';
import { Name } from './name.tsx';
import { ErrorBox } from './states.tsx';

interface DialogProps {
  readonly title: string;
  readonly isWide?: boolean;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** The browser keeps the focus inside, closes it with Esc and returns the focus afterwards. */
export function Dialog({ title, isWide = false, onClose, children }: DialogProps) {
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    box.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={box}
      class={`dialog fade${isWide ? ' wide' : ''}`}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === box.current) onClose();
      }}
    >
      <div class="dialog-body">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

/** A question that has to be answered before something is done. */
interface Question {
  readonly title: string;
  readonly text: string;
  readonly facts?: readonly (readonly [string, string])[];
  readonly after?: string;
  /** The verb, again. */
  readonly verb: string;
  readonly isDangerous?: boolean;
  /** Does it; what it throws is shown, and the dialog stays. */
  readonly act: () => Promise<void>;
}

const question = createValue<Question | null>(null);

/** Asks once, naming what will happen. */
export function ask(asked: Question): void {
  question.set(asked);
}

export function Questions() {
  const asked = useValue(question);
  // What is not answered when the session ends is not asked again.
  useEffect(() => () => question.set(null), []);
  return asked === null ? null : <QuestionDialog key={asked.title} asked={asked} />;
}

function QuestionDialog({ asked }: { readonly asked: Question }) {
  const close = () => question.set(null);
  const { error, isBusy, submit } = useSend(async () => {
    await asked.act();
    close();
  });
  const { facts = [], after, verb, isDangerous = true } = asked;
  return (
    <Dialog title={asked.title} onClose={close}>
      <p class="second">{asked.text}</p>
      {facts.length > 0 && <Facts rows={facts.map(([name, value]) => [name, <Name text={value} />])} />}
      {after !== undefined && <p class="second">{after}</p>}
      {error !== null && <ErrorBox title="It was not done." error={error} />}
      <div class="buttons">
        <button type="button" class="button" autoFocus onClick={close}>
          Cancel
        </button>
        <Button as={isDangerous ? 'danger' : 'primary'} isBusy={isBusy} onClick={submit}>
          {verb}
        </Button>
      </div>
    </Dialog>
  );
}
