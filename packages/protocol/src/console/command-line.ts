import {
  explainFlagError,
  type FlagTable,
  type FlagValues,
  findMissingFlag,
  listFlags,
} from './command-flags.ts';
import {
  type CommandUsage,
  describeCommand,
  describeGroup,
  describeUsage,
  type Manual,
  overview,
} from './command-help.ts';

import { didYouMean } from './suggest.ts';
import { findNearCommands } from './suggest-command.ts';

interface ParsedWords {
  readonly values: FlagValues;
  readonly positionals: readonly string[];
}

/** One of our two programs, as far as its words go. */
export interface CommandLine<C extends CommandUsage = CommandUsage> extends Manual {
  /** Its name in messages. */
  readonly name: string;
  readonly version: string;
  readonly commands: readonly C[];
  /** Every flag of every command. */
  readonly options: FlagTable;
  /** Whether --no-NAME switches off what is on by default. */
  readonly allowNegative: boolean;
  /** The flags that every command takes. */
  readonly commonFlags: readonly string[];
  /** Other names of groups and commands, by which people look for them. */
  readonly nouns: Readonly<Record<string, string>>;
  /** What to say about words for which there is no command, but an answer. */
  readonly answers: Readonly<Record<string, (program: string) => string>>;
  /** `parseArgs` of Node, which the protocol does without. */
  parse(config: ParseConfig): ParsedWords;
}

interface ParseConfig {
  readonly args: string[];
  readonly options: FlagTable;
  readonly allowPositionals: true;
  readonly allowNegative: boolean;
  readonly strict: boolean;
}

/** Wrong words; the message says which. */
export class UsageError extends Error {}

/** A command whose words and flags are right. */
export interface Given<C> {
  readonly command: C;
  readonly words: readonly string[];
  readonly flags: FlagValues;
}

type ReadLine<C> =
  | ({ readonly kind: 'run' } & Given<C>)
  /** Text to print. Nobody asked for it when too few words were given. */
  | { readonly kind: 'page'; readonly text: string; readonly isAsked: boolean };

/** What is to be done: run a command whose words and flags are right, or print a page. */
export function readCommandLine<C extends CommandUsage>(
  line: CommandLine<C>,
  argv: readonly string[],
): ReadLine<C> {
  const { words, flags } = readLoosely(line, argv);
  const [first] = words;
  if (first === 'help') return page(describe(line, words.slice(1)));
  if (flags.help === true) return page(describe(line, words));
  if (words.length === 2 && words[1] === 'help') return page(describe(line, words.slice(0, 1)));
  if (first === undefined) {
    requireKnownFlags(line, argv);
    return flags.version === true ? page(sayVersion(line, flags)) : page(overview(line), false);
  }
  if (flags.version === true) return page(sayVersion(line, flags));
  const { command, rest } = findCommand(line, words);
  if (command === undefined) {
    if (words.length === 1 && isGroup(line, first)) return page(describeGroup(line, first), false);
    throw new UsageError(explainUnknown(line, words));
  }
  const given = readStrictly(line, argv, command);
  refuseExtra(line, command, rest);
  refuseForeign(line, command, given);
  if (first === 'version') return page(sayVersion(line, given));
  requireAll(line, command, rest, given);
  return { kind: 'run', command, words: rest, flags: given };
}

/** The flags as far as they can be made out, whatever is wrong with the rest. */
export function readFlags(line: CommandLine, argv: readonly string[]): FlagValues {
  return readLoosely(line, argv).flags;
}

/** The message of a `UsageError`, and how the nearest command is used. */
export function explainUsage(line: CommandLine, argv: readonly string[], { message }: UsageError): string {
  const usage = usageNear(line, readLoosely(line, argv).words);
  return usage === '' ? message : `${message}\n\n${usage}`;
}

function usageNear(line: CommandLine, given: readonly string[]): string {
  const words = given[0] === 'help' ? given.slice(1) : given;
  const [first = ''] = words;
  const { command, rest } = findCommand(line, words);
  if (command === undefined && findAnswer(line, first) !== undefined) return '';
  const near = findNearCommands(line.commands, words, line.nouns);
  if (command !== undefined && (rest.length === 0 || !isParent(line, command)))
    return describeUsage(line, [command]);
  if (near.length > 0) return describeUsage(line, near);
  return isGroup(line, first) ? describeGroup(line, first) : '';
}

function sayVersion({ name, version }: CommandLine, { json }: FlagValues): string {
  return json === true ? JSON.stringify({ version }, null, 2) : `${name} ${version}`;
}

function page(text: string, isAsked = true) {
  return { kind: 'page', text, isAsked } as const;
}

function describe(line: CommandLine, words: readonly string[]): string {
  const [first] = words;
  if (first === undefined) return overview(line);
  const topic = words.length === 1 ? line.topics[first] : undefined;
  if (topic !== undefined) return topic.describe();
  const { command } = findCommand(line, words);
  if (command !== undefined) return describeCommand(line, command);
  if (words.length === 1 && isGroup(line, first)) return describeGroup(line, first);
  throw new UsageError(explainUnknown(line, words));
}

function isGroup({ commands }: CommandLine, word: string): boolean {
  return commands.some(({ words }) => words.startsWith(`${word} `));
}

/** Whether others begin with the words of this one, as "clock accept" does with those of "clock". */
function isParent(line: CommandLine, { words }: CommandUsage): boolean {
  return isGroup(line, words);
}

function findCommand<C extends CommandUsage>({ commands }: CommandLine<C>, words: readonly string[]) {
  for (const length of [2, 1]) {
    const name = words.slice(0, length).join(' ');
    const command = commands.find((candidate) => candidate.words === name);
    if (command !== undefined) return { command, rest: words.slice(length) };
  }
  return { command: undefined, rest: words };
}

function explainUnknown(line: CommandLine, words: readonly string[]): string {
  const [first = ''] = words;
  const answer = findAnswer(line, first);
  if (answer !== undefined) return answer(line.program);
  const said = words.slice(0, 2).join(' ');
  const near = findNearCommands(line.commands, words, line.nouns);
  if (near.length > 0) return `Unknown command "${said}".${didYouMean(near.map((command) => command.words))}`;
  const hint = isGroup(line, first) ? '' : ` "${line.program} help" lists the commands.`;
  return `Unknown command "${said}".${hint}`;
}

function findAnswer({ answers }: CommandLine, word: string) {
  const name = word.toLowerCase();
  return Object.hasOwn(answers, name) ? answers[name] : undefined;
}

/** Words and flags as far as they can be made out, whatever is wrong with them. */
function readLoosely(line: CommandLine, argv: readonly string[]) {
  const { positionals, values } = line.parse(parseConfig(line, argv, false));
  return { words: positionals, flags: values };
}

function readStrictly(line: CommandLine, argv: readonly string[], command: CommandUsage): FlagValues {
  try {
    return line.parse(parseConfig(line, argv, true)).values;
  } catch (error) {
    const known = Object.keys(line.options).filter((flag) => takes(line, command, flag));
    throw new UsageError(explainFlagError(error, known));
  }
}

/** Without a command, no flag but a known one can be meant. */
function requireKnownFlags(line: CommandLine, argv: readonly string[]): void {
  try {
    line.parse(parseConfig(line, argv, true));
  } catch (error) {
    const problem = explainFlagError(error, Object.keys(line.options));
    throw new UsageError(`${problem}\n"${line.program} help" lists the commands.`);
  }
}

function parseConfig(line: CommandLine, argv: readonly string[], strict: boolean): ParseConfig {
  const { options, allowNegative } = line;
  return { args: [...argv], options, allowNegative, allowPositionals: true, strict };
}

function refuseExtra(line: CommandLine, command: CommandUsage, rest: readonly string[]): void {
  const extra = rest[command.arguments?.length ?? 0];
  if (extra === undefined) return;
  if (isParent(line, command)) throw new UsageError(explainUnknown(line, [command.words, extra]));
  throw new UsageError(`Unexpected argument "${extra}".`);
}

/** By the whole name: a command with --license-id does not take --license. */
function takes(
  { commonFlags }: CommandLine,
  { usage = '', otherFlags = '' }: CommandUsage,
  flag: string,
): boolean {
  return commonFlags.includes(flag) || listFlags(`${usage} ${otherFlags}`).includes(flag);
}

/** A flag that a command does not know would do nothing, and nobody would notice. */
function refuseForeign(line: CommandLine, command: CommandUsage, flags: FlagValues): void {
  const isForeign = (flag: string) => flags[flag] !== undefined && !takes(line, command, flag);
  const foreign = Object.keys(flags).find(isForeign);
  if (foreign !== undefined) throw new UsageError(`${call(line, command)} takes no --${foreign}.`);
}

function requireAll(
  line: CommandLine,
  command: CommandUsage,
  words: readonly string[],
  flags: FlagValues,
): void {
  const missing =
    command.arguments?.find((argument, index) => !argument.startsWith('[') && words[index] === undefined) ??
    findMissingFlag(command.usage ?? '', flags);
  if (missing !== undefined) throw new UsageError(`${call(line, command)} needs ${missing}.`);
}

function call({ program }: CommandLine, { words }: CommandUsage): string {
  return `"${program} ${words}"`;
}
