import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type ApiError, toApiError } from '../data/api.ts';
import { Button } from './button.tsx';
import { ErrorBox } from './states.tsx';

/** Does something once at a time, and keeps why it failed. */
export function useSend(send: () => unknown) {
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event?: Event) => {
    event?.preventDefault();
    if (isBusy) return;
    setBusy(true);
    setError(null);
    try {
      await send();
    } catch (failure) {
      setError(toApiError(failure));
    }
    setBusy(false);
  };
  return { error, isBusy, submit };
}

/** What the fields of a form contain: `typed` binds a text field to its name, `chosen` a choice. */
export function useFields<T extends object>(first: T) {
  const [fields, setFields] = useState(first);
  const set = <K extends keyof T>(name: K, value: T[K]) =>
    setFields((before) => ({ ...before, [name]: value }));
  const typed = <K extends keyof T>(name: K) => ({
    value: fields[name],
    onInput: (value: T[K]) => set(name, value),
  });
  const chosen = <K extends keyof T>(name: K) => ({
    value: fields[name],
    onChange: (value: T[K]) => set(name, value),
  });
  return { fields, setFields, set, typed, chosen };
}

interface FormProps {
  readonly className?: string;
  /** Such as "Add the license". */
  readonly verb: string;
  readonly busyVerb?: string;
  /** What to say if it fails: "The license was not added." */
  readonly failure: string;
  readonly onSend: () => unknown;
  /** In a dialog. */
  readonly onCancel?: () => unknown;
  readonly cancel?: string;
  /** Next to the button. */
  readonly beside?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Form(props: FormProps) {
  const { className, verb, busyVerb = verb, failure, onSend, onCancel, cancel, beside, children } = props;
  const { error, isBusy, submit } = useSend(onSend);
  const button = (
    <Button as="primary" isSubmit isBusy={isBusy}>
      {isBusy ? busyVerb : verb}
    </Button>
  );
  return (
    <form class={className} onSubmit={submit} noValidate>
      {children}
      {error !== null && <ErrorBox title={failure} error={error} />}
      {onCancel === undefined ? (
        <p class={beside === undefined ? 'gap' : 'gap done-line'}>
          {button}
          {beside}
        </p>
      ) : (
        <div class="buttons">
          <Button onClick={onCancel}>{cancel ?? 'Cancel'}</Button>
          {button}
        </div>
      )}
    </form>
  );
}
