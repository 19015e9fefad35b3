import { join, resolve } from 'node:path';
import { type Config, LIMITS } from '../../config.ts';
import { type FileRules, NO_RULES } from '../../core/rules/rules.ts';
import { type Content, type WatchedFile, watchFile } from '../watching/watched-file.ts';
import { parseRules, RulesError } from './parse-rules.ts';

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

/** The rules in the file, or why it is invalid. */
export function readRules({ path, isNamed }: RulesFile, content: Content): FileRules | RulesError {
  try {
    return rulesOf(content, isNamed);
  } catch (error) {
    if (!(error instanceof RulesError)) throw error;
    return new RulesError(`The rules file ${path} is not valid: ${error.message}`);
  }
}

/**
 * The file in the data folder is optional. A missing file that the settings name is a typo, or its folder is
 * not mounted: that must not admit everyone.
 */
function rulesOf(content: Content, isNamed: boolean): FileRules {
  if (content.kind === 'text') return parseRules(content.text);
  if (content.kind === 'unreadable') throw new RulesError(`it cannot be read (${content.reason}).`);
  if (isNamed) throw new RulesError('it does not exist.');
  return NO_RULES;
}
