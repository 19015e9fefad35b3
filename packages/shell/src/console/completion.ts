import { suggest } from '@berth/protocol/suggest';
import { type FlagTable, listFlags } from './command-flags.ts';
import type { CommandUsage } from './command-help.ts';

/** What a shell completes for a program. */
export interface Completed {
  /** Its name, by which the shell knows it. */
  readonly name: string;
  readonly commands: readonly CommandUsage[];
  readonly options: FlagTable;
  /** The flags of a command besides those in its usage. */
  flagsBeside(command: CommandUsage): readonly string[];
  /** The values of flags and arguments that have fixed ones. */
  readonly choices: Readonly<Record<string, readonly string[]>>;
  /** Other programs by the word that starts them. */
  readonly inner: Readonly<Record<string, Omit<Completed, 'name' | 'inner'>>>;
}

/** What may follow some words: more words, or flags. */
interface Step {
  readonly typed: string;
  readonly words: readonly string[];
  readonly flags: readonly string[];
}

const WRITERS = { bash: writeBash, zsh: writeZsh, fish: writeFish, powershell: writePowershell };

/** The shells that are known. */
export const SHELLS = Object.keys(WRITERS) as readonly (keyof typeof WRITERS)[];

/** A script for the shell; everything in it comes from the table. `null` if the shell is not known. */
export function writeCompletion(shell: string, program: Completed): string | null {
  return shell in WRITERS ? WRITERS[shell as keyof typeof WRITERS](readFacts(program)) : null;
}

export function explainShell(shell: string): string {
  const known = `There is one for ${SHELLS.join(', ')}.`;
  return `There is no completion for "${shell}".${suggest(shell, SHELLS)} ${known}`;
}

interface Facts {
  readonly name: string;
  /** Those with more words first: they are more specific. */
  readonly steps: readonly Step[];
  /** Flags that are followed by a value, with their dashes. */
  readonly valued: readonly string[];
  readonly choices: readonly (readonly [string, readonly string[]])[];
}

function readFacts({ name, inner, ...program }: Completed): Facts {
  const programs = [['', program] as const, ...Object.entries(inner)];
  const steps = programs.flatMap(([word, one]) =>
    listSteps(word, one, word === '' ? Object.keys(inner) : []),
  );
  const options = programs.flatMap(([, one]) => Object.entries(one.options));
  const valued = options.filter(([, { type }]) => type === 'string').map(([flag]) => `--${flag}`);
  const choices = programs.flatMap(([, one]) => Object.entries(one.choices));
  return {
    name,
    steps: steps.toSorted((a, b) => countWords(b.typed) - countWords(a.typed)),
    valued: unique(valued),
    choices: choices.map(([flag, values]) => [`--${flag}`, values]),
  };
}

function listSteps(
  word: string,
  { commands, flagsBeside }: Omit<Completed, 'name' | 'inner'>,
  others: readonly string[],
): readonly Step[] {
  const join = (...words: readonly string[]) => words.filter((one) => one !== '').join(' ');
  const groups = unique(['', ...commands.map(({ words }) => words.split(' ').slice(0, -1).join(' '))]);
  const all = unique([...groups, ...commands.map(({ words }) => words)]);
  return all.map((typed) => {
    const own = commands.find(({ words }) => words === typed);
    const following = commands.flatMap(({ words }) => {
      const rest = typed === '' ? words : words.startsWith(`${typed} `) ? words.slice(typed.length + 1) : '';
      return rest === '' ? [] : [rest.split(' ', 1)[0] as string];
    });
    const flags = own === undefined ? [] : [...listFlags(own.usage ?? ''), ...flagsBeside(own)];
    return {
      typed: join(word, typed),
      words: unique([...following, ...(typed === '' ? others : []), ...choicesOf(own)]),
      flags: unique(flags).map((flag) => `--${flag}`),
    };
  });
}

/** An argument in lower case, such as `bash|zsh`, lists what it may be. */
function choicesOf(command: CommandUsage | undefined): readonly string[] {
  const [first = ''] = command?.arguments ?? [];
  return /^[a-z|]+$/.test(first) ? first.split('|') : [];
}

function countWords(text: string): number {
  return text === '' ? 0 : text.split(' ').length;
}

function unique<T>(list: readonly T[]): readonly T[] {
  return [...new Set(list)];
}

/** Finds what was typed before the current word, without flags and their values, and what may follow. */
function writeBody(facts: Facts, { word, first, end }: Readonly<Record<'word' | 'first' | 'end', string>>) {
  return [
    `  for ((i = ${first}; i < ${end}; i++)); do`,
    `    case "${word}" in`,
    `      ${facts.valued.join('|')}) i=$((i + 1)) ;;`,
    '      -*) ;;',
    `      *) typed="$typed${word} " ;;`,
    '    esac',
    '  done',
    '  case "$prev" in',
    ...facts.choices.map(([flag, values]) => `    ${flag}) next='${values.join(' ')}' ;;`),
    `    ${facts.valued.join('|')}) ;;`,
    '    *)',
    '      case "$typed" in',
    ...facts.steps.map(({ typed, words, flags }) => {
      const pattern = typed === '' ? "' '" : `' ${typed} '*`;
      return `        ${pattern}) next='${words.join(' ')}'; flags='${flags.join(' ')}' ;;`;
    }),
    '      esac',
    '      case "$cur" in -*) next=$flags ;; esac',
    '      ;;',
    '  esac',
  ];
}

function writeBash(facts: Facts): string {
  const { name } = facts;
  const place = { word: `\${COMP_WORDS[i]}`, first: '1', end: 'COMP_CWORD' };
  return [
    `# Completion of ${name} for bash. Load it with: source <(${name} completion bash)`,
    `_${name}() {`,
    `  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD - 1]}"`,
    "  local typed=' ' next='' flags='' i",
    ...writeBody(facts, place),
    '  # Without a suggestion, bash completes the names of files.',
    '  COMPREPLY=($(compgen -W "$next" -- "$cur"))',
    '}',
    `complete -o default -F _${name} ${name}`,
  ].join('\n');
}

function writeZsh(facts: Facts): string {
  const { name } = facts;
  const place = { word: `\${words[i]}`, first: '2', end: 'CURRENT' };
  return [
    `#compdef ${name}`,
    `# Completion of ${name} for zsh. Load it with: source <(${name} completion zsh)`,
    `_${name}() {`,
    `  local cur="\${words[CURRENT]}" prev="\${words[CURRENT - 1]}"`,
    "  local typed=' ' next='' flags='' i",
    ...writeBody(facts, place),
    `  if [ -n "$next" ]; then compadd -- \${=next}; else _files; fi`,
    '}',
    `compdef _${name} ${name}`,
  ].join('\n');
}

function writeFish(facts: Facts): string {
  const { name, steps, valued, choices } = facts;
  const chosen = new Map(choices);
  const complete = (how: 'is' | 'in', typed: string, rest: string) =>
    `complete -c ${name} -n '__${name}_typed ${how} "${typed}"' ${rest}`;
  const flagOf = (flag: string) => {
    const values = chosen.get(flag);
    if (!valued.includes(flag)) return `-l ${flag.slice(2)}`;
    return `-l ${flag.slice(2)} -r${values === undefined ? '' : ` -f -a '${values.join(' ')}'`}`;
  };
  return [
    `# Completion of ${name} for fish. Load it with: ${name} completion fish | source`,
    `function __${name}_typed`,
    '  set -l typed',
    '  set -l skip no',
    '  for word in (commandline -opc)[2..]',
    '    if test $skip = yes',
    '      set skip no',
    `    else if contains -- $word ${valued.join(' ')}`,
    '      set skip yes',
    "    else if not string match -q -- '-*' $word",
    '      set -a typed $word',
    '    end',
    '  end',
    "  set -l text (string join ' ' $typed)",
    '  if test $argv[1] = is',
    '    test "$text" = "$argv[2]"',
    '  else',
    '    string match -q -- "$argv[2] *" "$text "',
    '  end',
    'end',
    ...steps.flatMap(({ typed, words, flags }) => [
      ...(words.length === 0 ? [] : [complete('is', typed, `-f -a '${words.join(' ')}'`)]),
      ...flags.map((flag) => complete('in', typed, flagOf(flag))),
    ]),
  ].join('\n');
}

function writePowershell(facts: Facts): string {
  const { name, steps, valued, choices } = facts;
  const quote = (texts: readonly string[]) => texts.map((text) => `'${text}'`).join(', ');
  return [
    `# Completion of ${name} for PowerShell. Load it with:`,
    `# ${name} completion powershell | Out-String | Invoke-Expression`,
    `Register-ArgumentCompleter -Native -CommandName ${name}, ${name}.cmd, ${name}.exe -ScriptBlock {`,
    '  param($current, $line, $position)',
    `  $valued = @(${quote(valued)})`,
    '  $choices = @{',
    ...choices.map(([flag, values]) => `    '${flag}' = @(${quote(values)})`),
    '  }',
    '  $words = @{',
    ...steps.map(({ typed, words }) => `    '${typed}' = @(${quote(words)})`),
    '  }',
    '  $flags = @{',
    ...steps.map(({ typed, flags }) => `    '${typed}' = @(${quote(flags)})`),
    '  }',
    '  $before = @($line.CommandElements | Where-Object { $_.Extent.EndOffset -lt $position } |',
    '    Select-Object -Skip 1 | ForEach-Object { $_.ToString() })',
    "  $typed = @(); $previous = ''",
    '  foreach ($word in $before) {',
    "    if ($valued -notcontains $previous -and -not $word.StartsWith('-')) { $typed += $word }",
    '    $previous = $word',
    '  }',
    '  $next = @()',
    '  if ($choices.ContainsKey($previous)) { $next = $choices[$previous] }',
    '  elseif ($valued -notcontains $previous) {',
    '    for ($count = [Math]::Min(3, $typed.Count); $count -ge 0; $count--) {',
    "      $key = ($typed | Select-Object -First $count) -join ' '",
    '      if (-not $words.ContainsKey($key)) { continue }',
    "      if ($current.StartsWith('-')) { $next = $flags[$key] }",
    '      elseif ($count -eq $typed.Count) { $next = $words[$key] }',
    '      break',
    '    }',
    '  }',
    '  $next | Where-Object { $_ -like "$current*" } |',
    '    ForEach-Object {',
    "      [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)",
    '    }',
    '}',
  ].join('\n');
}
