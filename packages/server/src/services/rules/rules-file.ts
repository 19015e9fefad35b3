import { join, resolve } from 'node:path';
import { type Config, LIMITS } from '../../config.ts';
import { type Content, type WatchedFile, watchFile } from '../watching/watched-file.ts';
import { type ParsedRules, parseRules } from './parse-rules.ts';

/** Why a rules file cannot be applied. */
export class RulesError extends Error {}

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

/**
 * The rules in the file, or why it is invalid; `null`: there is none, and the rules are kept in the store. A
 * missing file that the settings name is a typo, or its folder is not mounted: that must not admit everyone.
 */
export function readRules({ path, isNamed }: RulesFile, content: Content): WrittenRules | RulesError | null {
  if (content.kind === 'absent' && !isNamed) return null;
  const refused = (message: string) => new RulesError(`The rules file ${path} is not valid: ${message}`);
  if (content.kind === 'absent') return refused('it does not exist.');
  if (content.kind === 'unreadable') return refused(`it cannot be read (${content.reason}).`);
  const { text } = content;
  const parsed = parseRules(text);
  if (!('errors' in parsed)) return { ...parsed, text };
  const [first, ...others] = parsed.errors;
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  return refused(`in line ${first?.line}, ${first?.message}${more}`);
}
