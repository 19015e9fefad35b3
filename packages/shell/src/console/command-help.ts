/** What the command line says about a command. */
export interface CommandUsage {
  /** The command: one word or two. */
  readonly words: string;
  /** Arguments; those in brackets are optional. */
  readonly arguments?: readonly string[];
  /** Its flags; those outside brackets are required. */
  readonly usage?: string;
  /** More flags, which its usage does not repeat. */
  readonly otherFlags?: string;
  readonly about: string;
}

/** Handled before commands are looked up. */
export const ANSWERED: readonly CommandUsage[] = [
  { words: 'help', arguments: ['[COMMAND]'], about: 'show this page, or help for a command' },
  { words: 'version', about: 'show the version' },
];

interface Topic {
  readonly about: string;
  describe(): string;
}

/** What the help pages are made of. */
export interface Manual {
  /** How the program was started, such as `./berth`. */
  readonly program: string;
  readonly commands: readonly CommandUsage[];
  /** Programs beside this one, with commands of their own. */
  readonly others?: readonly CommandUsage[];
  /** Help topics by name. */
  readonly topics: Readonly<Record<string, Topic>>;
  /** A note about all commands. */
  readonly note: string;
}

/** Longer calls get a separate line. */
const WIDEST = 35;

/** Lists all commands. */
export function overview(line: Manual): string {
  const { program } = line;
  return [
    `Usage: ${program} COMMAND [ARGUMENTS] [FLAGS]`,
    '',
    listCommands([...line.commands, ...(line.others ?? [])]),
    '',
    `"${program} help COMMAND" explains one and its flags.`,
    ...Object.entries(line.topics).map(([name, { about }]) => `"${program} help ${name}" ${about}.`),
    line.note,
  ].join('\n');
}

/** The commands that begin with this word. */
export function describeGroup({ program, commands }: Manual, group: string): string {
  const own = commands.filter(({ words }) => words === group || words.startsWith(`${group} `));
  return [`Usage: ${program} ${group} COMMAND`, '', listCommands(own)].join('\n');
}

/** Describes one command in full. */
export function describeCommand(line: Manual, command: CommandUsage): string {
  const { words, about } = command;
  const parts = [describeUsage(line, [command]), sentence(about), line.note];
  const others = line.commands.filter((other) => other.words.startsWith(`${words} `));
  if (others.length > 0) parts.splice(2, 0, listCommands(others));
  return parts.join('\n\n');
}

/** The usage lines of commands. */
export function describeUsage({ program }: Manual, commands: readonly CommandUsage[]): string {
  return commands
    .map(({ words, arguments: names = [], usage = '' }, index) => {
      const call = [program, words, ...names, usage].filter((part) => part !== '').join(' ');
      return `${index === 0 ? 'Usage:' : '      '} ${call}`;
    })
    .join('\n');
}

function listCommands(commands: readonly CommandUsage[]): string {
  const calls = commands.map(({ words, arguments: names = [] }) => [words, ...names].join(' '));
  const width = Math.min(WIDEST, Math.max(...calls.map((call) => call.length)));
  return commands
    .map(
      ({ about }, index) =>
        `${separate(commands, index)}  ${calls[index]?.padEnd(width)}  ${about.split(';', 1)[0]}`,
    )
    .join('\n');
}

/** An empty line before and after each group. */
function separate(commands: readonly CommandUsage[], index: number): string {
  const group = groupOf(commands[index]);
  const before = groupOf(commands[index - 1]);
  if (index === 0 || group === before) return '';
  const isLone = (one: string) => commands.filter((command) => groupOf(command) === one).length === 1;
  return isLone(group) && isLone(before) ? '' : '\n';
}

function groupOf(command: CommandUsage | undefined): string {
  return command?.words.split(' ', 1)[0] ?? '';
}

function sentence(about: string): string {
  return `${about.slice(0, 1).toUpperCase()}${about.slice(1)}.`;
}
