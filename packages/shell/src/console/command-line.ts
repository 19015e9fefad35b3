import { didYouMean } from '@berth/protocol/suggest';
import {
  explainFlagError,
  type FlagTable,
  type FlagValues,
  findMissingFlag,
  joinDashedValues,
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
import { findNearCommands } from './suggest-command.ts';

interface ParsedWords {
  readonly values: FlagValues;
  readonly positionals: readonly string[];
}

/** The command line of one of our two programs. */
/** Where a program comes from. */
export interface Origin {
  readonly commit: string;
  /** The day of the commit; null if the program runs from its sources. */
  readonly date: string | null;
}

export interface CommandLine<C extends CommandUsage = CommandUsage> extends Manual {
  /** Its name in messages. */
  readonly name: string;
  readonly version: string;
  readonly findOrigin?: (() => Origin | null) | undefined;
  readonly commands: readonly C[];
  /** Every flag of every command. */
  readonly options: FlagTable;
  /** Whether --no-NAME switches off what is on by default. */
  readonly allowNegative: boolean;
  /** The flags that every command takes. */
  readonly commonFlags: readonly string[];
  /** Other names for groups and commands. */
  readonly nouns: Readonly<Record<string, string>>;
  /** Answers to words that are not commands. */
  readonly answers: Readonly<Record<string, (program: string) => string>>;
  /** Node's `parseArgs`; this package does not import Node modules. */
  parse(config: ParseConfig): ParsedWords;
}

interface ParseConfig {
  readonly args: string[];
  readonly options: FlagTable;
  readonly allowPositionals: true;
  readonly allowNegative: boolean;
  readonly strict: boolean;
}

/** Wrong usage; the message says what is wrong. */
export class UsageError extends Error {}

/** A command whose words and flags are right. */
export interface Given<C> {
  readonly command: C;
  readonly words: readonly string[];
  readonly flags: FlagValues;
}

type ReadLine<C> =
  | ({ readonly kind: 'run' } & Given<C>)
  /** Text to print. `isAsked` is false if the command line was incomplete. */
  | { readonly kind: 'page'; readonly text: string; readonly isAsked: boolean };

/** Parses the command line: either a valid command to run, or a page to print. */
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

/** Reads the flags leniently, whatever is wrong with the rest. */
export function readFlags(line: CommandLine, argv: readonly string[]): FlagValues {
  return readLoosely(line, argv).flags;
}

/** The message of a `UsageError`, followed by the usage of the nearest command. */
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

function sayVersion({ name, version, findOrigin }: CommandLine, { json }: FlagValues): string {
  const origin = findOrigin?.() ?? null;
  if (json === true) return JSON.stringify({ version, ...origin }, null, 2);
  if (origin === null) return `${name} ${version}`;
  // Between releases the version itself ends with the commit.
  const [release] = version.split('+');
  return `${name} ${release} (${origin.commit}, ${origin.date ?? 'from source'})`;
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

/** Whether other commands begin with this one, such as "clock accept" with "clock". */
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

/** Parses words and flags leniently. */
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

/** Without a command, only known flags are allowed. */
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
  return { args: joinDashedValues(argv, options), options, allowNegative, allowPositionals: true, strict };
}

/** Does not repeat what is too much: people type passwords and keys there. */
function refuseExtra(line: CommandLine, command: CommandUsage, rest: readonly string[]): void {
  const taken = command.arguments?.length ?? 0;
  const extra = rest[taken];
  if (extra === undefined) return;
  if (isParent(line, command)) throw new UsageError(explainUnknown(line, [command.words, extra]));
  throw new UsageError(`Unexpected argument after "${[command.words, ...rest.slice(0, taken)].join(' ')}".`);
}

/** By the whole name: a command with --license-id does not take --license. */
function takes(
  { commonFlags }: CommandLine,
  { usage = '', otherFlags = '' }: CommandUsage,
  flag: string,
): boolean {
  return commonFlags.includes(flag) || listFlags(`${usage} ${otherFlags}`).includes(flag);
}

/** Refuses flags that the command would silently ignore. */
function refuseForeign(line: CommandLine, command: CommandUsage, flags: FlagValues): void {
  const isForeign = (flag: string) => flags[flag] !== undefined && !takes(line, command, flag);
  const foreign = Object.keys(flags).find(isForeign);
  if (foreign !== undefined) throw new UsageError(`${call(line, command)} does not accept --${foreign}.`);
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
