/** A scanner of TypeScript source: enough to tell code from text, and to find the bodies of functions. */

const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y;
const STRING = /'(?:[^'\\\n]|\\[\s\S])*'?|"(?:[^"\\\n]|\\[\s\S])*"?/y;
const TEMPLATE = /[`}](?:[^`\\$]|\\[\s\S]|\$(?!\{))*(?:`|\$\{|$)/y;
const REGEX = /\/(?![*/])(?:[^\\/[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;
const CODE = /[\w$#@]+|\s+|[\s\S]/y;

const BEFORE_REGEX =
  /^(?:|[^\w$)\]}'"`]|return|typeof|case|in|of|delete|void|throw|new|else|do|await|yield|instanceof)$/;

interface ScanState {
  /** The last token which is neither space nor comment: it tells a division from a regular expression. */
  previous: string;
  /** For each template literal being read, the braces open inside its current `${`. */
  interpolations: number[];
  regexes: RegexLiteral[];
}

interface RegexLiteral {
  offset: number;
  source: string;
  flags: string;
}

function readAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

function blank(text: string): string {
  return text.replace(/[^\n]/g, ' ');
}

/** Keeps the quotes, so that a masked string still reads as an operand. */
function blankInside(text: string): string {
  const inside = blank(text.slice(1, -1));
  const last = text.length > 1 ? (text.at(-1) ?? '') : '';
  return text.charAt(0) + inside + (last === text.charAt(0) ? last : blank(last));
}

function readTemplate(text: string, at: number, state: ScanState): string | undefined {
  const resumes = text[at] === '}' && state.interpolations.at(-1) === 0;
  if (text[at] !== '`' && !resumes) return undefined;
  if (resumes) state.interpolations.pop();
  const token = readAt(TEMPLATE, text, at);
  if (token?.endsWith('${')) state.interpolations.push(0);
  return token;
}

function countBrace(token: string, state: ScanState): void {
  const depth = state.interpolations.pop();
  if (depth === undefined) return;
  state.interpolations.push(depth + (token === '{' ? 1 : token === '}' ? -1 : 0));
}

function maskTemplate(token: string): string {
  const masked = blank(token).split('');
  if (token.startsWith('`')) masked[0] = '`';
  if (token.length > 1 && token.endsWith('`')) masked[masked.length - 1] = '`';
  return masked.join('');
}

function readText(text: string, at: number, state: ScanState): string | undefined {
  const template = readTemplate(text, at, state);
  if (template !== undefined) return maskTemplate(template);
  const string = readAt(STRING, text, at);
  if (string !== undefined) return blankInside(string);
  if (!BEFORE_REGEX.test(state.previous)) return undefined;
  const regex = readAt(REGEX, text, at);
  if (regex === undefined) return undefined;
  const end = regex.lastIndexOf('/');
  state.regexes.push({ offset: at, source: regex.slice(1, end), flags: regex.slice(end + 1) });
  return blankInside(regex);
}

function maskNext(text: string, at: number, state: ScanState): string {
  const comment = readAt(COMMENT, text, at);
  if (comment !== undefined) return blank(comment);
  const masked = readText(text, at, state);
  if (masked !== undefined) {
    state.previous = state.interpolations.at(-1) === 0 ? '' : '"';
    return masked;
  }
  const token = readAt(CODE, text, at) ?? '';
  countBrace(token, state);
  if (token.trim() !== '') state.previous = token;
  return token;
}

/** Blanks comments, strings, template text and regular expressions; every offset and line stays the same. */
export function maskSource(text: string): string {
  return scan(text).masked;
}

/** Every regular expression that is written out in the source. */
export function findRegexes(text: string): RegexLiteral[] {
  return scan(text).regexes;
}

function scan(text: string): { masked: string; regexes: RegexLiteral[] } {
  const state: ScanState = { previous: '', interpolations: [], regexes: [] };
  let masked = '';
  while (masked.length < text.length) masked += maskNext(text, masked.length, state);
  return { masked, regexes: state.regexes };
}

interface Bracket {
  open: number;
  close: number;
  parent: Bracket | undefined;
}

type Brackets = Map<number, Bracket>;

function pairBrackets(code: string): Brackets {
  const brackets: Brackets = new Map();
  let current: Bracket | undefined;
  for (const { 0: mark, index } of code.matchAll(/[()[\]{}]/g)) {
    if ('([{'.includes(mark)) {
      current = { open: index, close: code.length, parent: current };
      brackets.set(index, current);
    } else if (current) {
      current.close = index;
      current = current.parent;
    }
  }
  return brackets;
}

function closeOf(brackets: Brackets, open: number): number {
  return brackets.get(open)?.close ?? open;
}

function skipAngles(code: string, open: number): number {
  let depth = 0;
  for (let at = open; at < code.length; at++) {
    if (code[at] === '<') depth++;
    if (code[at] === '>' && code[at - 1] !== '=') depth--;
    if (depth === 0) return at + 1;
  }
  return code.length;
}

interface TypeStep {
  next: number;
  /** Whether a type must follow here, in which case a brace opens an object type and no body. */
  wantsType: boolean;
}

const PREFIX_WORDS = new Set([
  'keyof',
  'typeof',
  'infer',
  'readonly',
  'asserts',
  'unique',
  'new',
  'abstract',
]);
const INFIX_WORDS = new Set(['is', 'extends']);

function stepOverWord(word: string, at: number, wantsType: boolean): TypeStep | undefined {
  if (INFIX_WORDS.has(word)) return { next: at + word.length, wantsType: true };
  if (!wantsType) return undefined;
  return { next: at + word.length, wantsType: PREFIX_WORDS.has(word) };
}

function stepOverType(
  code: string,
  at: number,
  wantsType: boolean,
  brackets: Brackets,
): TypeStep | undefined {
  const word = readAt(/[\w$]+/y, code, at);
  if (word !== undefined) return stepOverWord(word, at, wantsType);
  const mark = code.charAt(at);
  if ('([{'.includes(mark)) return { next: closeOf(brackets, at) + 1, wantsType: false };
  if (mark === '<') return { next: skipAngles(code, at), wantsType: false };
  if (code.startsWith('=>', at)) return { next: at + 2, wantsType: true };
  if ('\'"`'.includes(mark)) return { next: code.indexOf(mark, at + 1) + 1 || code.length, wantsType: false };
  return '|&?:.-'.includes(mark) ? { next: at + 1, wantsType: true } : undefined;
}

function skipSpace(code: string, at: number): number {
  return at + (readAt(/\s*/y, code, at)?.length ?? 0);
}

/** The brace which opens the body after a return type, or undefined if what follows is no return type. */
function findBodyAfterType(code: string, start: number, brackets: Brackets): number | undefined {
  let step: TypeStep = { next: skipSpace(code, start), wantsType: true };
  while (step.next < code.length) {
    if (code[step.next] === '{' && !step.wantsType) return step.next;
    const after = stepOverType(code, step.next, step.wantsType, brackets);
    if (after === undefined) return undefined;
    step = { next: skipSpace(code, after.next), wantsType: after.wantsType };
  }
  return undefined;
}

/** Parentheses which are followed by a brace and yet are no list of parameters. */
const NO_PARAMETERS = /\b(?:if|for|while|switch|catch|with|await|extends\s+[\w.$]*)\s*$/;

function findBodyAfterParameters(code: string, list: Bracket, brackets: Brackets): number | undefined {
  if (NO_PARAMETERS.test(code.slice(Math.max(0, list.open - 80), list.open))) return undefined;
  const next = skipSpace(code, list.close + 1);
  if (code[next] === '{') return next;
  return code[next] === ':' ? findBodyAfterType(code, next + 1, brackets) : undefined;
}

function calleeOf(code: string, bracket: Bracket | undefined): string {
  const open = bracket?.parent?.open;
  if (open === undefined || code[open] !== '(') return '';
  return /([\w.$]+)\s*$/.exec(code.slice(Math.max(0, open - 80), open))?.[1] ?? '';
}

interface FunctionBody {
  open: number;
  close: number;
  /** The function this one is handed to as an argument, such as `describe`; else empty. */
  callee: string;
}

/** The bodies in braces of functions, methods and arrow functions, in masked source. */
export function findFunctionBodies(code: string): FunctionBody[] {
  const brackets = pairBrackets(code);
  const opens = new Set(Array.from(code.matchAll(/=>\s*\{/g), (match) => match.index + match[0].length - 1));
  for (const list of brackets.values()) {
    const open = code[list.open] === '(' ? findBodyAfterParameters(code, list, brackets) : undefined;
    if (open !== undefined) opens.add(open);
  }
  return Array.from(opens, (open) => ({
    open,
    close: closeOf(brackets, open),
    callee: calleeOf(code, brackets.get(open)),
  })).sort((one, other) => one.open - other.open);
}
