import { useEffect } from 'preact/hooks';
import { readMonotonicMs } from '../clock.ts';
import { keep, readKept } from '../data/theme.ts';
import { createValue, useValue } from '../data/value.ts';

const NAME = 'berth-keys';

/** Whether single letters act. */
const hasKeys = createValue(readKept(NAME) !== 'off');

/** Switches single letters on and off. */
export function KeySwitch() {
  const isOn = useValue(hasKeys);
  const change = (event: { readonly currentTarget: HTMLInputElement }) => {
    keep(NAME, event.currentTarget.checked ? 'on' : 'off');
    hasKeys.set(event.currentTarget.checked);
  };
  return (
    <label class="check">
      <input type="checkbox" checked={isOn} onChange={change} />
      Single letters act, unless something is typed
    </label>
  );
}

type Keys = Readonly<Record<string, (event: KeyboardEvent) => void>>;

/**
 * Calls what belongs to a key such as `j` or `Ctrl a`, unless the user types, a dialog is open or single
 * letters are switched off.
 */
export function useKeys(keys: Keys): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const isCtrl = event.ctrlKey || event.metaKey;
      if (!(isCtrl ? isFree(event) : mayAct(event))) return;
      const key = event.key.toLowerCase();
      const act = isCtrl ? keys[`Ctrl ${key}`] : (keys[event.key] ?? keys[key]);
      if (act === undefined) return;
      event.preventDefault();
      act(event);
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  });
}

/** `G`, and then the letter of a screen within this time. */
const GO_MS = 1500;

/** Goes to a screen by two letters, and keeps the second one from the keys of the current screen. */
export function useGoKeys(ways: Readonly<Record<string, () => void>>): void {
  useEffect(() => {
    let untilMs = 0;
    const listen = (event: KeyboardEvent) => {
      if (!mayAct(event)) return;
      const key = event.key.toLowerCase();
      const isSecond = readMonotonicMs() < untilMs;
      untilMs = key === 'g' && !isSecond ? readMonotonicMs() + GO_MS : 0;
      if (!isSecond && key !== 'g') return;
      event.preventDefault();
      if (isSecond) ways[key]?.();
    };
    addEventListener('keydown', listen, { capture: true });
    return () => removeEventListener('keydown', listen, { capture: true });
  }, []);
}

function mayAct(event: KeyboardEvent): boolean {
  return hasKeys.get() && !event.ctrlKey && !event.metaKey && isFree(event);
}

function isFree(event: KeyboardEvent): boolean {
  const isTaken = event.altKey || event.defaultPrevented || isTyping(event.target);
  return !isTaken && document.querySelector('dialog[open], .menu') === null;
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return target.type !== 'checkbox' && target.type !== 'radio';
  return (
    target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement
  );
}

/** The keys that act on every screen or in lists. */
export const KEY_LIST: readonly (readonly [keys: string, meaning: string])[] = [
  ['Ctrl K', 'Find a screen, a license or a user'],
  ['/', 'Search this list'],
  ['J K', 'Move down and up'],
  ['X', 'Select; Shift and a click select all rows in between'],
  ['Ctrl A', 'Select everything that the filters show'],
  ['Enter', 'Open'],
  ['R', 'Release or recall'],
  ['B', 'Bar the user'],
  ['Z', 'Undo'],
];

export function Keycaps({ keys }: { readonly keys: string }) {
  return (
    <>
      {keys.split(' ').map((key) => (
        <kbd key={key} class="keycap">
          {key}
        </kbd>
      ))}
    </>
  );
}
