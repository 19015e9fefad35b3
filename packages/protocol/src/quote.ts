import { escapeUnprintable } from './hidden-characters.ts';

const MAX_QUOTED = 100;

/** What others wrote, as a part of our sentence: marked, bounded, and without anything that hides. */
export function quote(text: string): string {
  const shown = escapeUnprintable(text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text);
  return `"${shown.replaceAll('"', "'")}"`;
}
