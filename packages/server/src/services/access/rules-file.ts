import { join, resolve } from 'node:path';
import { type Config, LIMITS } from '../../config.ts';
import { NO_RULES, type Rules } from '../../core/rules/rules.ts';
import { type Content, type WatchedFile, watchFile } from '../upkeep/watched-file.ts';
import { parseRules, RulesError } from './parse-rules.ts';

/** Where the rules are written down. */
export interface RulesFile extends WatchedFile {
  /** Somebody asked for it by its name, so it has to be there. */
  readonly isNamed: boolean;
  /**
   * Not to have one says nothing. Each of several servers has a data folder of its own: one without a file
   * must not let in those whom another one's file has barred. A file that says "deny: {}" does.
   */
  readonly isOptional: boolean;
}

const DEFAULT_NAME = 'rules.yaml';

/** The file that the settings name, or the one in the data folder. */
export function openRulesFile(
  { rules, data }: Pick<Config, 'rules' | 'data'>,
  { isShared }: { readonly isShared: boolean },
): RulesFile {
  const isNamed = rules !== '';
  const path = isNamed ? resolve(rules) : join(data, DEFAULT_NAME);
  return { ...watchFile(path, LIMITS.rulesBytes), isNamed, isOptional: isShared && !isNamed };
}

/** What the file says, or why it cannot be used. */
export function readRules({ path, isNamed }: RulesFile, content: Content): Rules | RulesError {
  try {
    return rulesOf(content, isNamed);
  } catch (error) {
    if (!(error instanceof RulesError)) throw error;
    return new RulesError(`The rules file ${path} cannot be used: ${error.message}`);
  }
}

/**
 * Nobody has to have a file in the data folder. One that was named and is not there is a typo, or a folder
 * that is not mounted: no reason to let everybody in.
 */
function rulesOf(content: Content, isNamed: boolean): Rules {
  if (content.kind === 'text') return parseRules(content.text);
  if (content.kind === 'unreadable') throw new RulesError(`it cannot be read (${content.reason}).`);
  if (isNamed) throw new RulesError('it is not there.');
  return NO_RULES;
}
