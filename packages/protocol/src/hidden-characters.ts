/**
 * Characters that leave no mark on a screen, or that change the order in which the marks around them are
 * shown: bidirectional controls, zero-width characters, fillers and separators of lines. Two texts that
 * differ only in these look the same to a person.
 */
const HIDDEN = /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Zl}\p{Zp}\u{2800}\u{FFF9}-\u{FFFB}]/gu;

/** Ordinary names contain these: joiners between letters and in emoji, and the selectors of variants. */
const USED_IN_NAMES = /\u{200C}|\u{200D}|\p{Variation_Selector}/u;

/** Characters that a terminal may interpret, or that are invisible on it. */
const UNPRINTABLE =
  /[\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Zl}\p{Zp}\u{2800}\u{FFF9}-\u{FFFB}]/gu;

export function withoutHidden(text: string): string {
  return text.replace(HIDDEN, '');
}

/**
 * The first character that a name must not contain, written as U+202E; `null`: there is none. A name that
 * consists of nothing but hidden characters is refused by its first.
 */
export function findHidden(name: string): string | null {
  const found = name.match(HIDDEN)?.find((character) => !USED_IN_NAMES.test(character));
  if (found !== undefined) return codeOf(found);
  return name !== '' && withoutHidden(name) === '' ? codeOf(name) : null;
}

/** Escapes what a name must not contain, for pages: names from before the check, or from settings. */
export function escapeHidden(name: string): string {
  return name.replace(HIDDEN, (character) =>
    USED_IN_NAMES.test(character) ? character : escapeUnprintable(character),
  );
}

function codeOf(text: string): string {
  return `U+${hexOf(text).toUpperCase().padStart(4, '0')}`;
}

function hexOf(character: string): string {
  return (character.codePointAt(0) as number).toString(16);
}

/** Escapes control characters and invisible characters for a terminal, such as \u{202e}. */
export function escapeUnprintable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u{${hexOf(character)}}`);
}

/** The same for a text of several lines, which stay lines. */
export function escapeLines(text: string): string {
  return text.split('\n').map(escapeUnprintable).join('\n');
}

/** A value as JSON that can be shown on a terminal and means the same. */
export function toPrintableJson(value: unknown, spaces = 0): string {
  return escapeJsonText(JSON.stringify(value, null, spaces));
}

/** JSON text that stays the same JSON. Line breaks between its values are left alone. */
export function escapeJsonText(json: string): string {
  return json.replace(UNPRINTABLE, (character) =>
    character === '\n' ? character : character.split('').map(escapeUnit).join(''),
  );
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
