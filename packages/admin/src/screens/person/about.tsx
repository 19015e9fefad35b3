import type { Slot } from '@berth/protocol/admin/registrations';
import { useState } from 'preact/hooks';
import { post } from '../../data/api.ts';
import { useAllowed, useLicenses } from '../../data/overview.ts';
import { useResource } from '../../data/resource.ts';
import { useRules } from '../../data/rules.ts';
import { Button } from '../../parts/button.tsx';
import { ask } from '../../parts/dialog.tsx';
import { Term, TermList } from '../../parts/facts.tsx';
import { Section } from '../../parts/head.tsx';
import { Time } from '../../parts/time.tsx';
import { showToast } from '../../parts/toasts.tsx';
import { sayMembership } from '../../words/person.ts';
import { plural } from '../../words/time.ts';
import type { Barring } from '../slots/slot-actions.ts';

interface AboutProps {
  readonly user: string;
  readonly slots: readonly Slot[];
  readonly lastAt: string | null;
  /** `null`: not allowed, or there is nothing to forget. */
  readonly onForget: (() => void) | null;
}

/** What else is known, and the way to forget it. */
export function About({ user, slots, lastAt, onForget }: AboutProps) {
  const barred = useAllowed('/api/admin/rules/why', { user }, { isLive: true }).data?.barred_by ?? null;
  const hosts = [...new Set(slots.map(({ os_hostname }) => os_hostname).filter((host) => host !== null))];
  const isProven = slots.length > 0 && slots.every(({ credential }) => credential !== null);
  return (
    <aside>
      <Groups user={user} slots={slots} />
      <Section title="About">
        <TermList>
          <Term name="Last seen">
            <Time at={lastAt} none="never" />
          </Term>
          {hosts.length > 0 && (
            <Term name="Computers">
              <bdi>{hosts.join(', ')}</bdi>
            </Term>
          )}
          {barred !== null && (
            <Term name="Barred" note={barred.map(sayBarring).join('. ')}>
              {barred.length === 0 ? 'no' : 'yes, new requests are refused'}
            </Term>
          )}
          {slots.length > 0 && (
            <Term name="Name" note={isProven ? '' : 'Clients do not have to prove it.'}>
              {isProven ? 'sent with credentials' : 'as the client states it'}
            </Term>
          )}
        </TermList>
      </Section>
      {onForget !== null && <Forget user={user} holdsSlots={slots.length > 0} onDone={onForget} />}
    </aside>
  );
}

type GroupsProps = Pick<AboutProps, 'user' | 'slots'>;

/** The groups of the rules that the person is in, and by what; nothing without rules. */
function Groups({ user, slots }: GroupsProps) {
  const hasRules = (useRules().data?.rules.length ?? 0) > 0;
  const licenses = useLicenses().data?.licenses ?? [];
  const [held] = slots;
  // Groups are the same for all products, but the question needs one.
  const product = held?.product ?? licenses[0]?.product;
  const query = { user, product, host: held?.os_hostname ?? undefined, address: held?.address ?? undefined };
  const path = hasRules && product !== undefined ? '/api/admin/rules/explain' : null;
  const groups = useResource(path, query).data?.groups ?? null;
  if (groups === null) return null;
  return (
    <Section title="Groups">
      {groups.length === 0 ? (
        <p class="quiet">In no group of the rules.</p>
      ) : (
        <ul class="rule-list">
          {groups.map(({ group, by }) => (
            <li key={group} class="stacked">
              <b dir="auto">{group}</b>
              <span class="small quiet">{sayMembership(by)}</span>
            </li>
          ))}
        </ul>
      )}
      {held === undefined && (
        <p class="small quiet gap">
          By the name alone. With a slot, the computer and its address count, too.
        </p>
      )}
    </Section>
  );
}

function sayBarring({ source, kind, pattern, note }: Barring): string {
  const where = source === 'bar' ? 'By a bar' : 'In the rules file';
  return `${where}: ${kind} ${pattern}${note === null ? '' : ` (${note})`}`;
}

const WHAT_GOES =
  'Removes the name, computers and addresses from history and reports. The totals stay. The audit log ' +
  'keeps the name until it is thinned out, and backups keep it, too.';

interface ForgetProps {
  readonly user: string;
  readonly holdsSlots: boolean;
  readonly onDone: () => void;
}

function Forget({ user, holdsSlots, onDone }: ForgetProps) {
  const [isTooEarly, setTooEarly] = useState(false);
  const forget = () => {
    setTooEarly(holdsSlots);
    if (!holdsSlots) askToForget(user, onDone);
  };
  return (
    <section class="apart" aria-label="Forget this person">
      <h3>Forget this person</h3>
      <p class="second small">
        {WHAT_GOES} {holdsSlots && !isTooEarly && 'Possible once no slot is held.'}
      </p>
      {isTooEarly && holdsSlots && (
        <p class="critical small" role="alert">
          Release or recall the slots first: when they end, the name would be recorded again.
        </p>
      )}
      <Button onClick={forget}>Forget…</Button>
    </section>
  );
}

function askToForget(user: string, onDone: () => void): void {
  ask({
    title: 'Forget this person?',
    text: WHAT_GOES,
    facts: [['User', user]],
    after: 'This cannot be undone.',
    verb: 'Forget person',
    act: async () => {
      const { forgotten } = await post('/api/admin/history/forget', { user });
      onDone();
      showToast(`${plural(forgotten, 'record no longer names', 'records no longer name')} the person.`);
    },
  });
}
