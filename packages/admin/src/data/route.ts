import { createValue, useValue } from './value.ts';

/** Where the page is: behind the `#`, so that the server sees one path only. */
export interface Place {
  /** Such as `['licenses', '5']`. */
  readonly path: readonly string[];
  readonly params: URLSearchParams;
}

const place = createValue<Place>(readPlace());

addEventListener('hashchange', () => place.set(readPlace()));

function readPlace(): Place {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const parts = path.split('/').filter((part) => part !== '');
  return { path: parts.map(decode), params: new URLSearchParams(query) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function usePlace(): Place {
  return useValue(place);
}

/** The address of a place, for links. */
export function linkTo(path: string, params: Readonly<Record<string, string | number | null>> = {}): string {
  const given = Object.entries(params).filter(([, value]) => value !== null && value !== '');
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return `#/${path}${given.length === 0 ? '' : `?${query}`}`;
}

/** The page of a person, whose name may contain anything. */
export function linkToPerson(user: string): string {
  return linkTo(`people/${encodeURIComponent(user.toWellFormed())}`);
}

export function goTo(address: string): void {
  location.hash = address;
}

/** Changes parameters of the place; an empty one is left out. Typing does not fill the history. */
export function setParams(changes: Readonly<Record<string, string | null>>, isTyping = false): void {
  const { path, params } = place.get();
  const next = new URLSearchParams(params);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === '') next.delete(name);
    else next.set(name, value);
  }
  const query = next.size === 0 ? '' : `?${next}`;
  const address = `#/${path.map(encodeURIComponent).join('/')}${query}`;
  if (isTyping) replaceAddress(address);
  else goTo(address);
}

/** Without a new entry in the history. */
export function replaceAddress(address: string): void {
  history.replaceState(null, '', address);
  place.set(readPlace());
}
