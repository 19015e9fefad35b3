import type { Setting } from '@berth/protocol/admin/settings';
import type { ComponentChildren } from 'preact';
import { get, post } from '../../data/api.ts';
import { loadWelcome, may, session } from '../../data/session.ts';
import { sayValue, useSettings } from '../../data/settings.ts';
import { createValue, useValue } from '../../data/value.ts';
import { Button } from '../../parts/button.tsx';
import { Term } from '../../parts/facts.tsx';
import { useSend } from '../../parts/form.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Name } from '../../parts/name.tsx';
import { ErrorBox } from '../../parts/states.tsx';
import { Time } from '../../parts/time.tsx';
import { showToast } from '../../parts/toasts.tsx';
import { countChanges, sayFixed } from '../../words/settings.ts';

type Changes = Readonly<Record<string, string>>;

/** What is not saved yet stays while its account looks at other parts of the page. */
const kept = createValue<{ readonly account: string | undefined; readonly changes: Changes }>({
  account: undefined,
  changes: {},
});

function setChanges(changes: Changes): void {
  kept.set({ account: session.get()?.name, changes });
}

/** Settings that are edited on the page: nothing changes until they are saved. */
export type Draft = ReturnType<typeof useDraft>;

/** `onSaved`: for what the settings have changed elsewhere on the screen. */
export function useDraft(onSaved: () => void = () => {}) {
  const settings = useSettings();
  const { account, changes: all } = useValue(kept);
  const changes = account === session.get()?.name ? all : {};
  const textOf = (name: string) => sayValue(settings.of(name)?.value ?? '');
  const saving = useSend(async () => {
    await post('/api/admin/settings', { changes });
    settings.reload();
    onSaved();
    setChanges({});
    showToast(await sayEffect(changes));
  });
  return {
    ...settings,
    changes,
    saving,
    /** The text in the field. */
    value: (name: string) => changes[name] ?? textOf(name),
    set(name: string, text: string) {
      setChanges({ ...without(changes, name), ...(text === textOf(name) ? {} : { [name]: text }) });
    },
    /** Leaves it as it is. */
    forget: (name: string) => setChanges(without(changes, name)),
    discard: () => setChanges({}),
  };
}

/** Saved they are, even if this cannot be found out. */
async function sayEffect(changes: Changes): Promise<string> {
  if (changes['page.name'] !== undefined) await loadWelcome().catch(() => {});
  const status = changes['webhooks.url'] ? await get('/api/admin/status').catch(() => null) : null;
  if (status?.webhooks.state === 'no_secret') {
    return 'Saved. Nothing is sent yet: the secret is missing.';
  }
  return 'Saved. It is in effect.';
}

function without(changes: Changes, name: string) {
  const { [name]: _, ...others } = changes;
  return others;
}

interface LiveTermProps {
  readonly draft: Draft;
  readonly name: string;
  readonly label: string;
  readonly note?: ComponentChildren;
  /** Instead of a text field. */
  readonly children?: ComponentChildren;
  readonly isShort?: boolean;
  readonly placeholder?: string;
}

/** A setting that can be edited here, or the value that is fixed elsewhere. */
export function LiveTerm({ draft, name, label, note, children, isShort, placeholder }: LiveTermProps) {
  const setting = draft.of(name);
  if (setting === null) return null;
  if (!isEditable(setting)) {
    return (
      <Term name={label} note={note}>
        <FixedValue setting={setting} />
      </Term>
    );
  }
  return (
    <Term name={label} note={<Notes note={note} setting={setting} />}>
      {children ?? (
        <LiveInput
          draft={draft}
          name={name}
          label={label}
          isShort={isShort ?? false}
          placeholder={placeholder ?? ''}
        />
      )}
    </Term>
  );
}

export function isEditable({ source }: Setting): boolean {
  return may('POST /api/admin/settings') && (source === 'stored' || source === 'default');
}

function Notes({ note, setting }: { readonly note: ComponentChildren; readonly setting: Setting }) {
  const { changed_by: by, changed_at: at } = setting;
  if (by === null) return <>{note}</>;
  return (
    <>
      {note}
      {note !== undefined && ' '}
      Set by <Name text={by} />, <Time at={at} />.
    </>
  );
}

/** Never a disabled field: it says where the value can be changed. */
export function FixedValue({ setting }: { readonly setting: Setting }) {
  const fixed = sayFixed(setting);
  return (
    <span class="fixed">
      <code>{sayValue(setting.value) || 'none'}</code>
      {fixed !== null && (
        <span class="quiet small">
          <Icon name="lock" size={12} />
          {fixed}
        </span>
      )}
    </span>
  );
}

interface LiveInputProps {
  readonly draft: Draft;
  readonly name: string;
  readonly label: string;
  readonly isShort: boolean;
  readonly placeholder: string;
}

export function LiveInput({ draft, name, label, isShort, placeholder }: LiveInputProps) {
  return (
    <input
      class={isShort ? 'input short' : 'input'}
      type="text"
      aria-label={label}
      aria-invalid={draft.saving.error?.facts.field === name}
      placeholder={placeholder}
      value={draft.value(name)}
      spellcheck={false}
      autoComplete="off"
      onInput={(event) => draft.set(name, event.currentTarget.value)}
    />
  );
}

/** One for the whole screen: says what changes, and saves all of it or nothing. */
export function SaveBar({ draft }: { readonly draft: Draft }) {
  const { changes, saving, discard } = draft;
  if (Object.keys(changes).length === 0) return null;
  return (
    <form class="save-bar" aria-label="Changes that are not saved" onSubmit={saving.submit}>
      {saving.error !== null && <ErrorBox title="Nothing was changed." error={saving.error} />}
      <p class="grow">
        <b>{countChanges(Object.keys(changes))}</b>{' '}
        <span class="quiet">Saving takes effect at once, without a restart.</span>
      </p>
      <Button onClick={discard}>Discard</Button>
      <Button as="primary" isSubmit isBusy={saving.isBusy}>
        Save
      </Button>
    </form>
  );
}
