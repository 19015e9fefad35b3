import { join, resolve } from 'node:path';
import { type Config, LIMITS } from '../../config.ts';
import { EMPTY_RULE_SET } from '../../core/rules/rule-set.ts';
import { type ParsedRules, parseRules } from '../rules/parse-rules.ts';
import type { Mistake } from '../rules/yaml-tree.ts';
import { type Content, type WatchedFile, watchFile } from '../watching/watched-file.ts';

/** The rules file. */
export interface RulesFile extends WatchedFile {
  /** The settings name it, so it must exist. */
  readonly isNamed: boolean;
  /**
   * A missing file says nothing. Each of several servers has its own data folder: one without a file must not
   * admit users that another one's file bars. A file with "deny: {}" does.
   */
  readonly isOptional: boolean;
}

const DEFAULT_NAME = 'rules.yaml';

/** The file named in the settings, or the one in the data folder. */
export function openRulesFile(
  { rules, data }: Pick<Config, 'rules' | 'data'>,
  { isShared }: { readonly isShared: boolean },
): RulesFile {
  const isNamed = rules !== '';
  const path = isNamed ? resolve(rules) : join(data, DEFAULT_NAME);
  return { ...watchFile(path, LIMITS.rulesBytes), isNamed, isOptional: isShared && !isNamed };
}

/** The file cannot be used; the message says why. */
export class RulesError extends Error {
  /** What is wrong with its text; empty if it cannot be read. */
  readonly mistakes: readonly Mistake[];

  constructor(message: string, mistakes: readonly Mistake[] = []) {
    super(message);
    this.mistakes = mistakes;
  }
}

/**
 * The rules in the file, or why it is invalid. The file in the data folder is optional. A missing file that
 * the settings name is a typo, or its folder is not mounted: that must not admit everyone.
 */
export function readRules({ path, isNamed }: RulesFile, content: Content): ParsedRules | RulesError {
  const invalid = (reason: string, mistakes?: readonly Mistake[]) =>
    new RulesError(`The rules file ${path} is not valid: ${reason}`, mistakes);
  if (content.kind === 'unreadable') return invalid(`it cannot be read (${content.reason}).`);
  if (content.kind === 'absent') return isNamed ? invalid('it does not exist.') : NOTHING;
  const parsed = parseRules(content.text);
  return 'errors' in parsed ? invalid(describeMistakes(parsed.errors), parsed.errors) : parsed;
}

const NOTHING: ParsedRules = { rules: EMPTY_RULE_SET, expectations: [], warnings: [] };

/** The first mistake; "rules check" lists all of them. */
function describeMistakes([first, ...others]: readonly Mistake[]): string {
  const { line, column, message } = first as Mistake;
  const rest = others.length === 0 ? '' : ` (and ${others.length} more)`;
  return `line ${line}, column ${column}: ${message}${rest}`;
}
