import type { GetAnswer } from '@berth/protocol/admin/admin-api';
import { addBar, removeBar } from '../../data/bars.ts';
import { ask } from '../../parts/dialog.tsx';
import { showToast } from '../../parts/toasts.tsx';

export type Barring = GetAnswer<'/api/admin/rules/why'>['barred_by'][number];

/** Whether the bar is about this user alone, and was not set by the rules file. */
export function isBarOf(user: string, { source, kind, pattern }: Barring): boolean {
  return source === 'bar' && kind === 'user' && pattern === user;
}

/** Asks, lifts the bar, and offers to take it back. */
export function askToUnbar(user: string, onDone: () => void): void {
  ask({
    title: 'Lift the bar?',
    text: 'The user gets slots again, unless another bar or the rules file refuses them.',
    facts: [['User', user]],
    verb: 'Lift the bar',
    isDangerous: false,
    act: async () => {
      await removeBar('user', user);
      onDone();
      showToast(`${user} is no longer barred.`, async () => {
        await addBar('user', user);
        showToast(`${user} is barred from all licenses.`);
        onDone();
      });
    },
  });
}
