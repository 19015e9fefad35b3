import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { toApiError } from '../../data/api.ts';
import { session } from '../../data/session.ts';
import { useValue } from '../../data/value.ts';
import { Button } from '../../parts/button.tsx';
import { CodeField, Field } from '../../parts/field.tsx';
import { useSend } from '../../parts/form.tsx';
import { ErrorBox } from '../../parts/states.tsx';

interface PasswordFormProps {
  readonly className?: string;
  /** The field for the password until now. */
  readonly old: Pick<
    Parameters<typeof Field>[0],
    'label' | 'type' | 'isMono' | 'isFirst' | 'hint' | 'autoComplete'
  >;
  /** What to say if that field is empty. */
  readonly missing: string;
  readonly verb: string;
  /** `code`: of those who have a second factor. */
  readonly onSend: (old: string, fresh: string, code?: string) => Promise<void>;
  readonly children?: ComponentChildren;
}

/** Replaces a password. A refusal is shown at the field that it is about. */
export function PasswordForm({ className, old, missing, verb, onSend, children }: PasswordFormProps) {
  const [before, setBefore] = useState('');
  const [fresh, setFresh] = useState('');
  const [code, setCode] = useState('');
  const hasFactor = useValue(session)?.recovery_codes_left != null;
  const [fault, setFault] = useState<{ readonly at: Place; readonly text: string } | null>(null);
  const faultAt = (place: Place) => (fault?.at === place ? fault.text : null);
  const { error, isBusy, submit } = useSend(async () => {
    setFault(null);
    if (before === '') return setFault({ at: 'old', text: missing });
    const gap = fresh === '' ? 'The new password is missing.' : judgeLength(fresh);
    if (gap !== null) return setFault({ at: 'new', text: gap });
    if (hasFactor && code === '') return setFault({ at: 'code', text: 'The code is missing.' });
    try {
      await onSend(before, fresh, hasFactor ? code : undefined);
      for (const clear of [setBefore, setFresh, setCode]) clear('');
    } catch (failure) {
      const { code: why, message: text } = toApiError(failure);
      const at = PLACES[why];
      if (at === undefined) throw failure;
      setFault({ at, text });
    }
  });
  return (
    <form class={className} onSubmit={submit} noValidate>
      {children}
      <Field {...old} value={before} onInput={setBefore} fault={faultAt('old')} />
      <NewPassword value={fresh} onInput={setFresh} fault={faultAt('new')} />
      {hasFactor && <CodeField value={code} onInput={setCode} fault={faultAt('code')} />}
      {error !== null && <ErrorBox title="The password was not set." error={error} />}
      <p class="gap">
        <Button as="primary" isSubmit isBusy={isBusy}>
          {verb}
        </Button>
      </p>
    </form>
  );
}

type Place = 'old' | 'new' | 'code';

/** Which field a refusal is about. */
const PLACES: Readonly<Record<string, Place>> = {
  invalid_credentials: 'old',
  unauthorized: 'old',
  validation_error: 'new',
  second_factor_required: 'code',
};

const MIN_LENGTH = 12;

function judgeLength(password: string): string | null {
  const { length } = Array.from(password);
  return length >= MIN_LENGTH ? null : `${length} of ${MIN_LENGTH} characters. Type a longer one.`;
}

interface NewPasswordProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly fault: string | null;
}

/** How long a new password is, while it is typed. */
function NewPassword({ value, onInput, fault }: NewPasswordProps) {
  const { length } = Array.from(value);
  const isEnough = length >= MIN_LENGTH;
  const note = 'Nothing else is needed, but common passwords are refused.';
  const count = `${length} of ${MIN_LENGTH} characters. ${note}`;
  const enough = `${length} characters. At least ${MIN_LENGTH} are needed, and nothing else.`;
  return (
    <>
      <Field
        label="New password"
        type="password"
        value={value}
        onInput={onInput}
        autoComplete="new-password"
        hint={length === 0 ? `At least ${MIN_LENGTH} characters, and nothing else.` : count}
        fault={fault}
        fine={isEnough && fault === null ? enough : null}
      />
      <div class={`strength${isEnough ? ' enough' : ''}`} aria-hidden="true">
        <span style={{ width: `${Math.min(100, (length / MIN_LENGTH) * 100)}%` }} />
      </div>
    </>
  );
}
