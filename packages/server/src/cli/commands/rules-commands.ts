import type { GetAnswer } from '@berth/protocol/admin/admin-api';
import { formatFacts, formatTable } from '@berth/shell/console/console-text';
import type { DenyList } from '../../core/rules/rules.ts';
import { type Command, defineCommand } from '../command.ts';
import { showBars } from './bar-commands.ts';

/** Shows the rules, which are changed in their file. */
export const RULES_COMMANDS: readonly Command[] = [
  defineCommand({
    words: 'rules show',
    about: 'show who is barred, by the rules file and by commands',
    ask: (client) => client.get('/api/admin/rules'),
    show: showRules,
  }),
];

function showRules(rules: GetAnswer<'/api/admin/rules'>): string {
  const { file, deny, bars, digest, changed_at, error } = rules;
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
