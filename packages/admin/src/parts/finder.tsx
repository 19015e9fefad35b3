import { useEffect, useRef, useState } from 'preact/hooks';
import { get } from '../data/api.ts';
import { useLicenses } from '../data/overview.ts';
import { goTo, linkTo } from '../data/route.ts';
import { isAdmin } from '../data/session.ts';
import { nameOf } from '../words/judge-license.ts';
import type { Screen } from './frame.tsx';
import { Icon, type IconName } from './icon.tsx';
import { Name } from './name.tsx';

interface Found {
  readonly icon: IconName;
  readonly text: string;
  readonly note: string;
  readonly address: string;
}

const MAX_FOUND = 8;

interface FinderProps {
  readonly screens: readonly Screen[];
  readonly onClose: () => void;
}

/** Finds screens, licenses and users by a part of their names. */
export function Finder({ screens, onClose }: FinderProps) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const box = useRef<HTMLDialogElement>(null);
  const users = useUsers(text.trim());
  const found = [...usePlaces(screens, text.trim().toLowerCase()), ...users];
  useEffect(() => box.current?.showModal(), []);
  const open = (one: Found | undefined) => {
    if (one === undefined) return;
    onClose();
    goTo(one.address);
  };
  const move = (event: KeyboardEvent) => {
    const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (by !== 0) {
      event.preventDefault();
      setAt((before) => Math.max(0, Math.min(found.length - 1, before + by)));
    }
    if (event.key === 'Enter') open(found[at]);
  };
  return (
    <dialog ref={box} class="dialog finder" aria-label="Find anything" onCancel={onClose}>
      <input
        class="input"
        role="combobox"
        aria-expanded="true"
        aria-controls="found"
        aria-activedescendant={found.length > 0 ? `found-${at}` : undefined}
        aria-label="Screen, license or user"
        placeholder="Screen, license or user"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={move}
      />
      <div class="menu" id="found" role="listbox" aria-label="Found">
        {found.map((one, index) => (
          <div
            key={`${one.address} ${one.text}`}
            id={`found-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            onClick={() => open(one)}
          >
            <Icon name={one.icon} />
            <span class="grow">
              <Name text={one.text} />
            </span>
            <span class="quiet small">{one.note}</span>
          </div>
        ))}
        {found.length === 0 && <p class="quiet nothing">Nothing is called like that.</p>}
      </div>
    </dialog>
  );
}

function usePlaces(screens: readonly Screen[], text: string): readonly Found[] {
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
  return [...places, ...(isAdmin() ? [add] : []), ...named]
    .filter((one) => `${one.text} ${one.note} ${one.words}`.toLowerCase().includes(text))
    .slice(0, MAX_FOUND);
}

function useUsers(text: string): readonly Found[] {
  const [found, setFound] = useState<readonly Found[]>([]);
  useEffect(() => {
    setFound([]);
    if (text.length < 2) return;
    const control = new AbortController();
    const timer = setTimeout(async () => {
      const query = { search: text, sort: 'user', limit: MAX_FOUND };
      const page = await get('/api/admin/registrations', query, control.signal).catch(() => null);
      if (page === null) return;
      setFound(
        page.registrations.map((slot) => ({
          icon: 'user' as const,
          text: slot.user,
          note: slot.os_hostname ?? slot.product,
          address: linkTo('slots', { search: slot.user }),
        })),
      );
    }, 150);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [text]);
  return found;
}
