import { createValue } from './value.ts';

export type Theme = 'system' | 'light' | 'dark';

const NAME = 'berth-theme';
const system = matchMedia('(prefers-color-scheme: dark)');

export const theme = createValue<Theme>(readTheme());

function readTheme(): Theme {
  const kept = readKept(NAME);
  return kept === 'light' || kept === 'dark' ? kept : 'system';
}

/** A browser may forbid storage: then the choice lasts until the page is closed. */
export function readKept(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

export function keep(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // See above.
  }
}

export function chooseTheme(chosen: Theme): void {
  keep(NAME, chosen);
  theme.set(chosen);
}

function show(): void {
  const isDark = theme.get() === 'dark' || (theme.get() === 'system' && system.matches);
  document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
}

theme.follow(show);
system.addEventListener('change', show);
show();
