import { useEffect, useRef, useState } from 'preact/hooks';
import { get } from '../data/api.ts';
import { useLicenses } from '../data/overview.ts';
import { goTo, linkTo, linkToPerson } from '../data/route.ts';
import { may } from '../data/session.ts';
import { createValue, useValue } from '../data/value.ts';
import { nameOf } from '../words/judge-license.ts';
import type { Screen } from './frame.tsx';
import { Icon, type IconName } from './icon.tsx';
import { Name } from './name.tsx';

interface Choice {
  readonly icon: IconName;
  readonly text: string;
  readonly note: string;
}

interface PickerProps<C extends Choice> {
  readonly label: string;
  readonly text: string;
  readonly found: readonly C[];
  /** Why something may be missing. */
  readonly gap?: string | null;
  readonly onText: (text: string) => void;
  readonly onPick: (choice: C) => void;
  readonly onClose: () => void;
}

/** A list to choose from that gets shorter with every letter. Arrow keys move, Enter chooses. */
export function Picker<C extends Choice>(props: PickerProps<C>) {
  const { label, text, found, gap = null, onText, onPick, onClose } = props;
  const [at, setAt] = useState(0);
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => box.current?.showModal(), []);
  useEffect(() => box.current?.querySelector(`#found-${at}`)?.scrollIntoView({ block: 'nearest' }), [at]);
  const pick = (choice: C | undefined) => {
    if (choice === undefined) return;
    onClose();
    onPick(choice);
  };
  const move = (event: KeyboardEvent) => {
    const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (by !== 0) {
      event.preventDefault();
      setAt((before) => Math.max(0, Math.min(found.length - 1, before + by)));
    }
    if (event.key === 'Enter') pick(found[at]);
  };
  return (
    <dialog
      ref={box}
      class="dialog finder"
      aria-label={label}
      onCancel={onClose}
      onClick={(event) => event.target === box.current && onClose()}
    >
      <input
        class="input"
        role="combobox"
        aria-expanded="true"
        aria-controls="found"
        aria-activedescendant={found.length > 0 ? `found-${at}` : undefined}
        aria-label={label}
        placeholder={label}
        value={text}
        onInput={(event) => {
          onText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={move}
      />
      <div class="menu" id="found" role="listbox" aria-label="Found">
        {found.map((one, index) => (
          <div
            key={`${one.icon} ${one.text} ${one.note}`}
            id={`found-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            onClick={() => pick(one)}
          >
            <Icon name={one.icon} />
            <span class="grow">
              <Name text={one.text} />
            </span>
            <span class="quiet small">{one.note}</span>
          </div>
        ))}
        {gap !== null && (
          <p class="quiet nothing" role="status">
            {gap}
          </p>
        )}
        {found.length === 0 && gap === null && <p class="quiet nothing">Nothing is called like that.</p>}
      </div>
    </dialog>
  );
}

interface Place extends Choice {
  readonly address: string;
}

const MAX_FOUND = 8;

/** What the finder looks for; `null`: it is closed. */
const sought = createValue<string | null>(null);

export function openFinder(text = ''): void {
  sought.set(text);
}

export function Finder({ screens }: { readonly screens: readonly Screen[] }) {
  const text = useValue(sought);
  useEffect(() => () => sought.set(null), []);
  return text === null ? null : <OpenFinder screens={screens} text={text} />;
}

/** Finds screens, licenses and people by a part of their names. */
function OpenFinder({ screens, text }: { readonly screens: readonly Screen[]; readonly text: string }) {
  const people = usePeople(text.trim());
  const found = [...usePlaces(screens, text.trim().toLowerCase()), ...(people ?? [])];
  return (
    <Picker
      label="Screen, license or user"
      text={text}
      found={found}
      gap={people === null ? 'Users cannot be found now: the server does not answer.' : null}
      onText={openFinder}
      onPick={({ address }) => goTo(address)}
      onClose={() => sought.set(null)}
    />
  );
}

function usePlaces(screens: readonly Screen[], text: string): readonly Place[] {
  const licenses = useLicenses().data?.licenses ?? [];
  const places = screens.flatMap(({ path, label, icon, sections = [] }) => [
    { icon, text: label, note: 'Screen', address: linkTo(path), words: '' },
    ...sections.map((section) => ({
      icon,
      text: section.label,
      note: label,
      address: linkTo(`${path}/${section.path}`),
      words: section.words,
    })),
  ]);
  const add = {
    icon: 'plus' as const,
    text: 'Add a license',
    note: 'Action',
    address: linkTo('licenses/add'),
    words: '',
  };
  const named = licenses.map((license) => ({
    icon: 'licenses' as const,
    text: nameOf(license),
    note: license.product,
    address: linkTo(`licenses/${license.id}`),
    words: String(license.id),
  }));
  return [...places, ...(may('POST /api/v4/addProduct') ? [add] : []), ...named]
    .filter((one) => `${one.text} ${one.note} ${one.words}`.toLowerCase().includes(text))
    .slice(0, MAX_FOUND);
}

/** Who holds a slot now, and who used or asked for one in this time. */
const KNOWN_DAYS = 92;

/** `null`: the server could not be asked. */
function usePeople(text: string): readonly Place[] | null {
  const [found, setFound] = useState<readonly Place[] | null>([]);
  useEffect(() => {
    setFound([]);
    if (text.length < 2) return;
    const control = new AbortController();
    const timer = setTimeout(async () => {
      const people = await findPeople(text, control.signal);
      if (!control.signal.aborted) setFound(people);
    }, 150);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [text]);
  return found;
}

async function findPeople(search: string, signal: AbortSignal): Promise<readonly Place[] | null> {
  const [held, known] = await Promise.all([
    get('/api/admin/registrations', { search, sort: 'user', limit: MAX_FOUND }, signal).catch(() => null),
    get('/api/admin/history/users', { search, since: `${KNOWN_DAYS}d`, limit: 50 }, signal).catch(() => null),
  ]);
  if (held === null && known === null) return null;
  const notes = new Map<string, string>();
  for (const slot of held?.registrations ?? []) notes.set(slot.user, slot.os_hostname ?? slot.product);
  for (const { user, name, product } of known?.users ?? []) {
    if (user !== null && !notes.has(user)) notes.set(user, name || product);
  }
  return [...notes].slice(0, MAX_FOUND).map(([user, note]) => {
    return { icon: 'user', text: user, note, address: linkToPerson(user) };
  });
}
