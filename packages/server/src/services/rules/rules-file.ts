import { join, resolve } from 'node:path';
import { type Config, LIMITS } from '../../config.ts';
import { type Content, type WatchedFile, watchFile } from '../watching/watched-file.ts';
import { type ParsedRules, parseRules, type RuleErrors, refuseFailed } from './parse-rules.ts';
import type { Mistake } from './yaml-tree.ts';

/** The file cannot be used; the message says why. */
export class RulesError extends Error {
  /** What is wrong with its text; empty if it cannot be read. */
  readonly mistakes: readonly Mistake[];

  constructor(message: string, mistakes: readonly Mistake[] = []) {
    super(message);
    this.mistakes = mistakes;
  }
}

/** The rules file. */
export interface RulesFile extends WatchedFile {
  /** The settings name it, so it must exist. */
  readonly isNamed: boolean;
}

const DEFAULT_NAME = 'rules.yaml';

/** The file named in the settings, or the one in the data folder. */
export function openRulesFile({ rules, data }: Pick<Config, 'rules' | 'data'>): RulesFile {
  const isNamed = rules !== '';
  const path = isNamed ? resolve(rules) : join(data, DEFAULT_NAME);
  return { ...watchFile(path, LIMITS.rulesBytes), isNamed };
}

/** Rules as they are written in a file. */
interface WrittenRules extends ParsedRules {
  readonly text: string;
}

export type ParseText = (text: string) => Promise<ParsedRules | RuleErrors>;

/**
 * The rules in the file, or why it cannot be applied; `null`: there is none, or it has those in force. These
 * are not read again: they may be larger than what is applied today.
 */
export async function readRules(
  file: RulesFile,
  content: Content,
  inForce: string | null,
  parse: ParseText,
): Promise<WrittenRules | RulesError | null> {
  if (content.kind === 'text' && content.text === inForce) return null;
  return readText(file, content, async (text) => refuseFailed(await parse(text)));
}

/** The same, whether or not its examples hold. */
export function readUnproven(file: RulesFile, content: Content): Promise<WrittenRules | RulesError | null> {
  return readText(file, content, async (text) => parseRules(text));
}

/**
 * `null`: there is no file, and the rules are kept in the store. A missing file that the settings name is a
 * typo, or its folder is not mounted: that must not admit everyone.
 */
async function readText(
  { path, isNamed }: RulesFile,
  content: Content,
  parse: ParseText,
): Promise<WrittenRules | RulesError | null> {
  if (content.kind === 'absent' && !isNamed) return null;
  const invalid = (reason: string, mistakes?: readonly Mistake[]) =>
    new RulesError(`The rules file ${path} is not valid: ${reason}`, mistakes);
  if (content.kind === 'absent') return invalid('it does not exist.');
  if (content.kind === 'unreadable') return invalid(`it cannot be read (${content.reason}).`);
  const { text } = content;
  const parsed = await parse(text);
  return 'errors' in parsed ? invalid(describeMistakes(parsed.errors), parsed.errors) : { ...parsed, text };
}

/** The first mistake; "rules check" lists all of them. */
function describeMistakes([first, ...others]: readonly Mistake[]): string {
  const { line, column, message } = first as Mistake;
  const rest = others.length === 0 ? '' : ` (and ${others.length} more)`;
  return `line ${line}, column ${column}: ${message}${rest}`;
}
