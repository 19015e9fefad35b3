import { countEdits } from '@berth/protocol/suggest';

/** A command by its words: one, or a group and a verb. */
interface Named {
  readonly words: string;
}

/** Synonyms for our verbs. A word may be in several rows. */
const VERBS: readonly (readonly string[])[] = [
  ['list', 'ls', 'show', 'get', 'print', 'view', 'info', 'describe', 'display', 'inspect', 'status', 'all'],
  ['add', 'create', 'new', 'make', 'register', 'grant', 'issue', 'generate', 'insert'],
  ['add', 'install', 'import', 'load', 'upload', 'apply', 'activate', 'restore'],
  [
    'remove',
    'delete',
    'rm',
    'del',
    'drop',
    'erase',
    'destroy',
    'uninstall',
    'revoke',
    'disable',
    'deactivate',
  ],
  ['release', 'recall', 'unregister', 'kick', 'evict', 'free', 'return'],
  ['revoke', 'disable', 'release', 'recall', 'delete', 'rm', 'remove'],
  ['disable', 'suspend', 'block', 'ban', 'deny', 'lock'],
  ['enable', 'unblock', 'approve', 'allow', 'resume', 'unlock', 'undo'],
  ['password', 'passwd', 'set-password', 'change-password', 'reset-password'],
  ['password', 'reset'],
  ['reset', 'clear', 'wipe', 'delete', 'remove', 'rm'],
  ['change', 'edit', 'update', 'modify', 'set', 'role', 'password', 'rename'],
  ['extend', 'renew', 'prolong'],
  ['sync', 'refresh', 'reload', 'check', 'update', 'pull', 'fetch', 'renew'],
  ['verify', 'check', 'validate', 'test', 'lint'],
  ['export', 'dump', 'download', 'backup', 'save'],
  ['rotate', 'replace', 'renew', 'regenerate'],
  ['thin', 'prune', 'trim', 'clean', 'cleanup', 'purge', 'compact', 'truncate'],
  ['settle', 'resolve', 'confirm'],
  ['start', 'serve', 'run', 'up', 'listen'],
];

const MAX_SUGGESTED = 4;

/**
 * The commands that the user may have meant: after a typo, with a synonym, or with the words swapped.
 * `nouns` has other names for groups and one-word commands.
 */
export function findNearCommands<C extends Named>(
  commands: readonly C[],
  words: readonly string[],
  nouns: Readonly<Record<string, string>>,
): readonly C[] {
  const [first = '', second] = words.map((word) => word.toLowerCase());
  const known = findKnownGroup(commands, first, nouns);
  const group = (word: string) => {
    const exact = findKnownGroup(commands, word, nouns);
    return exact.length > 0 ? exact : findSpelledGroup(commands, word);
  };
  const found =
    second === undefined
      ? findByOneWord(commands, first, known)
      : [
          findByVerb(group(first), second),
          findByVerb(group(second), first),
          findJoined(commands, [first, second]),
          // A verb with its argument: "revoke 3".
          known.length > 0 ? [] : findByMeaning(commands, first),
        ];
  return (found.find((candidates) => candidates.length > 0) ?? []).slice(0, MAX_SUGGESTED);
}

/** Meaning comes before spelling: "export" is not a misspelt "report". */
function findByOneWord<C extends Named>(commands: readonly C[], word: string, known: readonly C[]) {
  return [
    ...findInGroup(known),
    findByMeaning(commands, word),
    ...findInGroup(findSpelledGroup(commands, word)),
    findJoined(commands, splitWords(word)),
  ];
}

/** The command with the group's name, else the one that lists, else all. */
function findInGroup<C extends Named>(group: readonly C[]) {
  const exact = group.filter(({ words }) => !words.includes(' '));
  return [exact, findByVerb(group, 'list'), group];
}

/** All commands that begin with this word or its synonym. */
function findKnownGroup<C extends Named>(
  commands: readonly C[],
  word: string,
  nouns: Readonly<Record<string, string>>,
) {
  const names = new Set(commands.map(({ words }) => splitWords(words)[0] as string));
  const singular = word.replace(/s$/, '');
  const name = [word, singular, nouns[word], nouns[singular]].find(
    (candidate) => candidate !== undefined && names.has(candidate),
  );
  return commands.filter(({ words }) => splitWords(words)[0] === name);
}

/** All commands that begin with a similarly spelt word. */
function findSpelledGroup<C extends Named>(commands: readonly C[], word: string) {
  const names = new Set(commands.map(({ words }) => splitWords(words)[0] as string));
  const name = findBySpelling([...names], word);
  return commands.filter(({ words }) => splitWords(words)[0] === name);
}

/** The commands of a group with this verb, a synonym, or a similarly spelt one. */
function findByVerb<C extends Named>(group: readonly C[], verb: string): readonly C[] {
  const verbs = group.flatMap(({ words }) => splitWords(words).slice(1));
  const withVerb = (name: string | undefined) => group.filter(({ words }) => splitWords(words)[1] === name);
  if (verbs.includes(verb)) return withVerb(verb);
  const meant = findByMeaning(group, verb);
  return meant.length > 0 ? meant : withVerb(findBySpelling(verbs, verb) ?? '');
}

/** Commands with this verb, else those with a synonym. */
function findByMeaning<C extends Named>(commands: readonly C[], verb: string): readonly C[] {
  const verbOf = ({ words }: C) => splitWords(words).at(-1) as string;
  const same = commands.filter((command) => verbOf(command) === verb);
  if (same.length > 0) return same;
  const rows = VERBS.filter((row) => row.includes(verb));
  // In the order of the rows: the closest meaning comes first.
  const meant = rows.flatMap((row) => commands.filter((command) => row.includes(verbOf(command))));
  return [...new Set(meant)];
}

/** "license-list", "licenselist". */
function findJoined<C extends Named>(commands: readonly C[], words: readonly string[]): readonly C[] {
  const joined = words.join('');
  const name = findBySpelling(
    commands.map((command) => splitWords(command.words).join('')),
    joined,
  );
  return commands.filter((command) => splitWords(command.words).join('') === name).slice(0, 1);
}

function findBySpelling(names: readonly string[], word: string): string | undefined {
  const allowed = word.length < 4 ? 1 : 2;
  const ranked = names
    .map((name) => ({ name, edits: countEdits(word, name) }))
    .filter(({ name, edits }) => edits <= allowed && edits < name.length)
    .sort((a, b) => a.edits - b.edits);
  return ranked[0]?.name;
}

function splitWords(words: string): readonly string[] {
  return words.split(/[ :_]/);
}
