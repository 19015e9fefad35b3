import { formatFacts, formatTable } from '@berth/protocol/console/console-text';
import type { DenyList } from '../../core/rules/rules.ts';
import { RulesError } from '../../services/access/parse-rules.ts';
import { openRulesFile, readRules } from '../../services/access/rules-file.ts';
import type { AdminAnswer } from '../admin-client.ts';
import type { Command, LocalContext } from '../command.ts';
import { type ShownBar, showBars } from './bar-commands.ts';

/** Shows and checks the rules, which are changed in their file. */
export const RULES_COMMANDS: readonly Command[] = [
  {
    words: 'rules show',
    about: 'show who is barred, by the rules file and by commands',
    ask: (client) => client.get('/api/admin/rules'),
    show: showRules,
  },
  {
    words: 'rules check',
    arguments: ['[FILE]'],
    about: 'check a rules file and show whom it bars; without FILE, the one in use',
    local: checkRules,
    show: ({ file, deny }: Checked) => `${file} is valid.\n${showDenied(deny)}`,
  },
];

interface Checked {
  readonly file: string;
  readonly deny: DenyList;
}

interface ShownRules extends Checked {
  readonly bars: readonly ShownBar[];
  readonly digest: string;
  readonly changed_at: string | null;
  readonly error: string | null;
}

function showRules({ file, deny, bars, digest, changed_at, error }: ShownRules): string {
  const facts = { file, 'in force since': changed_at, digest, ...(error === null ? {} : { error }) };
  const barred = bars.length === 0 ? '' : `\n\nBarred by commands:\n${showBars(bars)}`;
  return `${formatFacts(facts)}\n\n${showDenied(deny, bars.length === 0)}${barred}`;
}

function showDenied({ users, hosts, addresses }: DenyList, isAll = true): string {
  const rows = [
    ...users.map((word) => ['user', word]),
    ...hosts.map((word) => ['host', word]),
    ...addresses.map((word) => ['address', word]),
  ];
  if (rows.length > 0) return formatTable(['barred', 'which'], rows);
  return isAll ? 'Nobody is barred.' : 'The file bars nobody.';
}

async function checkRules({ config, words: [named] }: LocalContext): Promise<AdminAnswer> {
  const file = openRulesFile(named === undefined ? config : { ...config, rules: named }, {
    isShared: false,
  });
  const rules = readRules(file, await file.read());
  if (rules instanceof RulesError) return { ok: false, body: { message: rules.message } as never };
  return { ok: true, body: { file: file.path, deny: rules.deny } as never };
}
