import type { GetAnswer } from '@berth/protocol/admin/admin-api';
import { formatTable } from '@berth/shell/console/console-text';
import { sayLength } from '../../core/doctor/judge-machine.ts';
import { type Command, defineCommand } from '../command.ts';

/** Who waits for a slot. */
export const LINE_COMMANDS: readonly Command[] = [
  defineCommand({
    words: 'line',
    about: 'list who waits for a slot, for what, and for how long',
    ask: (client) => client.get('/api/admin/line'),
    show: showLine,
  }),
];

const SECOND_MS = 1000;

function showLine({ waiting, line }: GetAnswer<'/api/admin/line'>): string {
  if (waiting === 0) return 'Nobody waits.';
  const rows = line.map((one) => [
    one.position,
    one.product,
    one.feature ?? '',
    one.user,
    one.os_hostname ?? one.address ?? '',
    sayLength(one.waited_seconds * SECOND_MS),
    one.rule ?? one.why,
    one.is_connected ? '' : 'left a moment ago',
  ]);
  const table = formatTable(['', 'product', 'feature', 'user', 'host', 'waiting', 'why', ''], rows);
  return waiting > line.length ? `${table}\n… and ${waiting - line.length} more.` : table;
}
