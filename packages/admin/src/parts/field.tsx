import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { Icon } from './icon.tsx';
import { MenuButton } from './menu.tsx';
import { Shape } from './shape.tsx';

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly type?: 'text' | 'password' | 'date';
  readonly hint?: ComponentChildren;
  /** What is wrong with it; shown below and read by screen readers. */
  readonly fault?: string | null;
  /** What is right with it. */
  readonly fine?: string | null;
  readonly isMono?: boolean;
  readonly lines?: number;
  readonly autoComplete?: string;
  readonly isFirst?: boolean;
  readonly placeholder?: string;
}

export function Field(props: FieldProps) {
  const id = useId();
  const { label, hint, fault = null, fine = null } = props;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <Input {...props} id={id} />
      <div id={`${id}-note`} aria-live="polite">
        {fault !== null ? (
          <span class="fault">
            <Shape level="critical" />
            {fault}
          </span>
        ) : fine !== null ? (
          <span class="fine">
            <Shape level="ok" />
            {fine}
          </span>
        ) : (
          hint !== undefined && <span class="hint">{hint}</span>
        )}
      </div>
    </div>
  );
}

/** Of a second factor. */
export function CodeField(props: Pick<FieldProps, 'value' | 'onInput' | 'fault' | 'isFirst'>) {
  const hint = 'From your authenticator app; or one of your recovery codes.';
  return <Field label="Code" autoComplete="one-time-code" hint={hint} isMono {...props} />;
}

/** Of the account that is signed in. */
export function OwnPasswordField(props: Pick<FieldProps, 'value' | 'onInput' | 'isFirst'>) {
  return <Field label="Your password" type="password" autoComplete="current-password" {...props} />;
}

function Input({ id, ...props }: FieldProps & { readonly id: string }) {
  const [isShown, setShown] = useState(false);
  const { value, onInput, type = 'text', fault = null, isMono = false, lines, placeholder } = props;
  const shared = {
    id,
    class: `input${isMono ? ' mono' : ''}`,
    value,
    placeholder,
    'aria-invalid': fault !== null,
    'aria-describedby': `${id}-note`,
    autoComplete: props.autoComplete ?? 'off',
    autoFocus: props.isFirst ?? false,
    spellcheck: false,
    autoCapitalize: 'none' as const,
    onInput: (event: { readonly currentTarget: { readonly value: string } }) =>
      onInput(event.currentTarget.value),
  };
  if (lines !== undefined) return <textarea {...shared} rows={lines} />;
  if (type === 'date') return <input {...shared} type="date" />;
  if (type === 'text') return <input {...shared} type="text" />;
  return (
    <div class="with-button">
      {isShown ? <input {...shared} type="text" /> : <input {...shared} type="password" />}
      <button type="button" class="inside" aria-pressed={isShown} onClick={() => setShown(!isShown)}>
        <Icon name="eye" />
        {isShown ? 'Hide' : 'Show'}
      </button>
    </div>
  );
}

interface ChooseProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly choices: readonly (readonly [T, string])[];
  readonly onChange: (value: T) => void;
}

export function Choose<T extends string>(props: ChooseProps<T>) {
  return (
    <div class="field">
      <span class="label">{props.label}</span>
      <Select {...props} />
    </div>
  );
}

/** Looks the same in every browser. */
export function Select<T extends string>({ label, value, choices, onChange }: ChooseProps<T>) {
  const text = choices.find(([choice]) => choice === value)?.[1] ?? value;
  const items = choices.map(([choice, text]) => ({
    label: text,
    isChosen: choice === value,
    act: () => onChange(choice),
  }));
  return (
    <MenuButton label={`${label}: ${text}`} className="select" items={items} isRadio isIcon>
      <bdi class="grow">{text}</bdi>
      <Icon name="down" size={12} />
    </MenuButton>
  );
}
