import { parseJsonText } from './json-text.ts';

/** A member of a JSON object, as it is written. */
export interface JsonMember {
  readonly name: string;
  /** Name and value, as they stand in the text, without blanks between. */
  readonly text: string;
}

/**
 * The members of the object that a text holds, in the order in which they are written. What is signed is a
 * text, so its spelling must survive: parsing and writing again would move keys that look like numbers and
 * respell escapes. The text has been parsed strictly before, so only its structure is looked for here.
 */
export function splitMembers(text: string): readonly JsonMember[] {
  const value = parseJsonText(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return splitTopLevel(compact(text).slice(1, -1)).map((member) => ({
    name: JSON.parse(member.slice(0, endOfString(member, 0) + 1)) as string,
    text: member,
  }));
}

/** The object without some of its members, as compact text. */
export function compactWithout(text: string, names: readonly string[]): string {
  const kept = splitMembers(text).filter(({ name }) => !names.includes(name));
  return `{${kept.map((member) => member.text).join(',')}}`;
}

/** The value of a member as it is written; `undefined` where there is none. */
export function findMemberText(text: string, name: string): string | undefined {
  const member = splitMembers(text).find((one) => one.name === name);
  return member?.text.slice(endOfString(member.text, 0) + 2);
}

/** Index of the quote that closes the string which opens at `start`; every string of valid JSON has one. */
function endOfString(text: string, start: number): number {
  let index = start + 1;
  while (index < text.length && text[index] !== '"') index += text[index] === '\\' ? 2 : 1;
  return index;
}

/** Without the blanks between its tokens. */
function compact(text: string): string {
  let result = '';
  for (let index = 0; index < text.length; index++) {
    const letter = text[index] as string;
    if (letter === '"') {
      const end = endOfString(text, index);
      result += text.slice(index, end + 1);
      index = end;
    } else if (!/\s/.test(letter)) result += letter;
  }
  return result;
}

function splitTopLevel(inside: string): readonly string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index < inside.length; index++) {
    const letter = inside[index] as string;
    if (letter === '"') index = endOfString(inside, index);
    else if (letter === '{' || letter === '[') depth++;
    else if (letter === '}' || letter === ']') depth--;
    else if (letter === ',' && depth === 0) {
      parts.push(inside.slice(start, index));
      start = index + 1;
    }
  }
  return inside === '' ? [] : [...parts, inside.slice(start)];
}
