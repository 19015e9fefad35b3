import type { GetAnswer } from '@berth/protocol/admin/admin-api';
import type { License } from '@berth/protocol/admin/licenses';
import type { Slot } from '@berth/protocol/admin/registrations';
import { readNow } from '../../clock.ts';
import { ApiError, post } from '../../data/api.ts';
import { addBar, removeBar } from '../../data/bars.ts';
import { may } from '../../data/session.ts';
import { ask } from '../../parts/dialog.tsx';
import { showToast } from '../../parts/toasts.tsx';
import { nameOf } from '../../words/judge-license.ts';
import { formatNumber } from '../../words/numbers.ts';
import { formatDistance, formatMoment, plural } from '../../words/time.ts';

type ById = ReadonlyMap<number, License>;

function send(slot: Slot): Promise<unknown> {
  const body = { license_id: slot.license_id, user: slot.user };
  return slot.is_borrowed
    ? post('/api/admin/registrations/recall', body)
    : post('/api/admin/registrations/release', body);
}

function licenseText(slot: Slot, licenses: ById): string {
  const license = licenses.get(slot.license_id);
  if (license === undefined) return slot.product;
  const { floating_in_use: used, floating_users: slots } = license;
  return `${nameOf(license)}, ${formatNumber(used)} of ${formatNumber(slots)} slots in use`;
}

const RECALL =
  'It is free at once, and the next person who asks gets it. The laptop is not told: it may go on working ' +
  'with its proof until the borrow ends.';
const RELEASE =
  'It is free at once. The application learns of it with its next heartbeat, and takes another slot if ' +
  'there is one.';
const BAR =
  'New requests of this user are refused for all licenses. Slots that they hold stay theirs until they end ' +
  'or are released.';

/** How many programs of one user share a slot; nothing to say unless there are several. */
export function sayPrograms(programs: number): readonly string[] {
  return programs > 1 ? [plural(programs, 'program')] : [];
}

/** What whoever frees a slot must be allowed to do, be it borrowed or not. */
export const FREEING = 'POST /api/admin/registrations/release';

/** Asks, and then releases a slot or recalls a borrowed one. */
export function askToFree(slot: Slot, licenses: ById, onDone: () => void): void {
  if (!may(FREEING)) return;
  const now = readNow();
  const until = slot.borrowed_until ?? slot.ends_at;
  const end = `${formatMoment(Date.parse(until), now)}, ${formatDistance(Date.parse(until), now)}`;
  const isLent = slot.is_borrowed;
  ask({
    title: isLent ? 'Recall this borrowed slot?' : 'Release this slot?',
    text: isLent ? RECALL : RELEASE,
    facts: [
      ['User', slot.user],
      ['Host', slot.os_hostname ?? slot.address ?? '–'],
      ['License', licenseText(slot, licenses)],
      [isLent ? 'Borrowed until' : 'Until', end],
      ...sayPrograms(slot.programs).map((programs) => ['Used by', programs] as const),
    ],
    after: 'This cannot be undone. The user can ask for a slot again.',
    verb: isLent ? 'Recall slot' : 'Release slot',
    act: async () => {
      await send(slot);
      showToast(`The slot of ${slot.user} is free.`);
      onDone();
    },
  });
}

/** Frees several slots. Failures are shown; the others are freed. */
export function askToFreeAll(slots: readonly Slot[], onDone: () => void): void {
  if (!may(FREEING)) return;
  const lent = slots.filter(({ is_borrowed }) => is_borrowed).length;
  ask({
    title: `Release ${plural(slots.length, 'slot')}?`,
    text:
      lent === 0
        ? 'They are free at once. The applications learn of it with their next heartbeat.'
        : `They are free at once. ${plural(lent, 'of them is', 'of them are')} borrowed: those laptops may ` +
          'go on working with their proof.',
    facts: slots.slice(0, 5).map((slot) => ['User', slot.user] as const),
    after:
      slots.length > 5 ? `And ${slots.length - 5} more. This cannot be undone.` : 'This cannot be undone.',
    verb: `Release ${plural(slots.length, 'slot')}`,
    act: async () => {
      const failures: ApiError[] = [];
      for (const slot of slots) await send(slot).catch((error: ApiError) => failures.push(error));
      onDone();
      const [first] = failures;
      // Another administrator, or the application itself, was faster: that is no failure.
      const real = failures.filter(({ code }) => code !== 'device_not_found');
      if (first !== undefined && real.length > 0) {
        throw new ApiError(
          first.status,
          first.code,
          `${real.length} of ${slots.length} were not released: ${first.message}`,
        );
      }
      showToast(`${plural(slots.length, 'slot is', 'slots are')} free.`);
    },
  });
}

/** Asks, bars the user, and offers to take it back. */
export function askToBar(user: string, onDone: () => void): void {
  ask({
    title: 'Bar this user?',
    text: BAR,
    facts: [['User', user]],
    after: 'You can undo it here, or later in Settings, Rules.',
    verb: 'Bar user',
    act: async () => {
      await addBar('user', user);
      onDone();
      showToast(`${user} is barred from all licenses.`, async () => {
        await removeBar('user', user);
        showToast(`${user} is no longer barred.`);
        onDone();
      });
    },
  });
}

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
