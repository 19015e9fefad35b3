import { endOfString, parseJsonText } from './json-text.ts';

/** A member of a JSON object, as it is written. */
interface JsonMember {
  readonly name: string;
  /** Name and value, as they stand in the text, without blanks between. */
  readonly text: string;
}

/**
 * The members of the object that a text holds, in the order in which they are written. What is signed is a
 * text, so its spelling must survive: parsing and writing again would move keys that look like numbers and
 * respell escapes. Once the text was parsed strictly, only its structure is looked for.
 */
export function splitMembers(text: string): readonly JsonMember[] {
  const value = parseJsonText(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return splitParsed(text);
}

function splitParsed(text: string): readonly JsonMember[] {
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

/**
 * The value of a member as it is written; `undefined` where there is none. For a text that was parsed
 * strictly just before, and is an object: parsing it again would double what a large file costs.
 */
export function findMemberText(text: string, name: string): string | undefined {
  const member = splitParsed(text).find((one) => one.name === name);
  return member?.text.slice(endOfString(member.text, 0) + 2);
}

const QUOTE = 34;
const COMMA = 44;

function isOpening(code: number): boolean {
  return code === 91 || code === 123;
}

function isClosing(code: number): boolean {
  return code === 93 || code === 125;
}

/** Between tokens, JSON knows no other blanks. */
function isBlank(code: number): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9;
}

/** Without the blanks between its tokens. Cut into pieces: letter by letter, a large text takes long. */
function compact(text: string): string {
  const pieces: string[] = [];
  let start = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) index = endOfString(text, index);
    else if (isBlank(code)) {
      if (index > start) pieces.push(text.slice(start, index));
      start = index + 1;
    }
  }
  return pieces.join('') + text.slice(start);
}

function splitTopLevel(inside: string): readonly string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index < inside.length; index++) {
    const code = inside.charCodeAt(index);
    if (code === QUOTE) index = endOfString(inside, index);
    else if (isOpening(code)) depth++;
    else if (isClosing(code)) depth--;
    else if (code === COMMA && depth === 0) {
      parts.push(inside.slice(start, index));
      start = index + 1;
    }
  }
  return inside === '' ? [] : [...parts, inside.slice(start)];
}
