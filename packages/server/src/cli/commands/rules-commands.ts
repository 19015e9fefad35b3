import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GetAnswer, PostAnswer } from '@berth/protocol/admin/admin-api';
import { formatFacts, formatTable } from '@berth/shell/console/console-text';
import type { AdminAnswer, AdminClient } from '../admin-client.ts';
import { type Command, defineCommand } from '../command.ts';
import { InputError } from '../read-secrets.ts';
import { readInput } from './offline-commands.ts';

/** Shows and changes the rules that are kept in the store. */
export const RULES_COMMANDS: readonly Command[] = [
  defineCommand({
    words: 'rules show',
    about: 'show the rules in force, and what each of them does now',
    ask: (client) => client.get('/api/admin/rules'),
    show: showRules,
  }),
  defineCommand({
    words: 'rules apply',
    arguments: ['FILE'],
    about: 'put the rules of a file in force, as a new revision',
    ask: (client, [file = '']) => client.post('/api/admin/rules/apply', { text: readInput(file) }),
    show: showApplied,
  }),
  defineCommand({
    words: 'rules edit',
    about: 'edit the rules in force with the program of $VISUAL or $EDITOR, and apply them',
    ask: editRules,
    show: showApplied,
  }),
  defineCommand({
    words: 'rules members',
    arguments: ['GROUP'],
    about: 'list who is in a group of the rules, by what the directory told',
    ask: (client, [group = '']) => client.get('/api/admin/rules/members', { group }),
    show: ({ members }) => members.join('\n'),
  }),
  defineCommand({
    words: 'rules history',
    arguments: ['[REVISION]'],
    about: 'list the revisions of the rules, or show what changed with one of them',
    ask: (client, [revision]): Promise<AdminAnswer<History>> =>
      revision === undefined
        ? client.get('/api/admin/rules/history')
        : client.get('/api/admin/rules/revision', { revision }),
    show: (body) => ('revisions' in body ? showRevisions(body) : showRevision(body)),
  }),
  defineCommand({
    words: 'rules revert',
    arguments: ['REVISION'],
    about: 'apply the rules of an earlier revision again',
    ask: (client, [revision = '']) => client.post('/api/admin/rules/revert', { revision }),
    show: ({ revision }) => `The rules are in force again, as revision ${revision}.`,
  }),
];

type History = GetAnswer<'/api/admin/rules/history'> | GetAnswer<'/api/admin/rules/revision'>;

function showRules(answer: GetAnswer<'/api/admin/rules'>): string {
  const { revision, text, by, at, file, file_error: error, warnings, rules } = answer;
  if (revision === 0 && error === null) return 'There are no rules. Whoever asks first gets a slot.';
  const facts = {
    revision,
    'applied by': by,
    'in force since': at,
    ...(file === null ? {} : { file }),
    ...(error === null ? {} : { error }),
  };
  const rows = rules.map((rule) => [
    rule.line,
    rule.feature === null ? rule.product : `${rule.product}, ${rule.feature}`,
    rule.text,
    rule.in_use,
    rule.still_to_come,
    rule.is_active ? '' : 'not now',
  ]);
  const table = formatTable(['line', 'product', 'rule', 'in use', 'kept free', ''], rows);
  const parts = [
    formatFacts(facts),
    rows.length === 0 ? '' : table,
    showGroups(answer),
    showWarnings(warnings),
  ];
  return [...parts, text.trimEnd()].filter((part) => part !== '').join('\n\n');
}

function showGroups({ directory_groups: groups }: GetAnswer<'/api/admin/rules'>): string {
  if (groups.length === 0) return '';
  const rows = groups.map(({ group, members, answered_at: at, problem }) => [
    group,
    members,
    at,
    problem ?? '',
  ]);
  return formatTable(['group', 'members', 'told by the directory', ''], rows);
}

type Remarks = GetAnswer<'/api/admin/rules'>['warnings'];

function showWarnings(warnings: Remarks): string {
  return warnings.map(({ line, message }) => `Warning, line ${line}: ${message}`).join('\n');
}

function showApplied({ revision, is_new: isNew, warnings }: PostAnswer<'/api/admin/rules/apply'>): string {
  const applied = isNew
    ? `The rules are in force, as revision ${revision}.`
    : `These rules are in force already, as revision ${revision}.`;
  return [applied, showWarnings(warnings)].filter((part) => part !== '').join('\n');
}

function showRevisions({ revisions }: GetAnswer<'/api/admin/rules/history'>): string {
  if (revisions.length === 0) return 'There have never been rules.';
  const rows = revisions.map(({ revision, at, by, added, removed }) => [
    revision,
    at,
    by,
    `+${added} -${removed}`,
  ]);
  return formatTable(['revision', 'applied at', 'by', 'lines'], rows);
}

function showRevision({ revision, by, at, diff }: GetAnswer<'/api/admin/rules/revision'>): string {
  return `${formatFacts({ revision, 'applied by': by, 'applied at': at })}\n\n${diff}`;
}

/** What an editor begins with if there are no rules. */
const EXAMPLE = `# Who gets slots. "berth rules check FILE" explains mistakes.
groups:
  team: { users: [] }

products: {}
`;

async function editRules(client: AdminClient): Promise<AdminAnswer<PostAnswer<'/api/admin/rules/apply'>>> {
  const current = await client.get('/api/admin/rules');
  if (!current.ok) return current;
  const { revision, text, file } = current.body;
  if (file !== null) throw new InputError(`The rules are in the file ${file}. Edit it instead.`);
  const folder = mkdtempSync(join(tmpdir(), 'berth-rules-'));
  const draft = join(folder, 'rules.yaml');
  try {
    writeFileSync(draft, text === '' ? EXAMPLE : text, { mode: 0o600 });
    runEditor(draft);
    const edited = readFileSync(draft, 'utf8');
    const answer = await client.post('/api/admin/rules/apply', { text: edited, based_on: revision });
    if (answer.ok) rmSync(folder, { recursive: true });
    else process.stderr.write(`Your text is kept in ${draft}.\n`);
    return answer;
  } catch (error) {
    rmSync(folder, { recursive: true });
    throw error;
  }
}

function runEditor(file: string): void {
  const editor = process.env.VISUAL || process.env.EDITOR;
  if (editor === undefined || editor === '') {
    throw new InputError('Set $VISUAL or $EDITOR, or use "berth rules show" and "berth rules apply FILE".');
  }
  const { status, error } = spawnSync(`${editor} "${file}"`, { stdio: 'inherit', shell: true });
  if (error !== undefined || status !== 0)
    throw new InputError(`"${editor}" failed, so nothing was applied.`);
}
