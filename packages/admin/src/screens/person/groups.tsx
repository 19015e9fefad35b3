import type { Slot } from '@berth/protocol/admin/registrations';
import { useLicenses } from '../../data/overview.ts';
import { useResource } from '../../data/resource.ts';
import { useRules } from '../../data/rules.ts';
import { Section } from '../../parts/head.tsx';
import { sayMembership } from '../../words/person.ts';

interface GroupsProps {
  readonly user: string;
  readonly slots: readonly Slot[];
}

/** The groups of the rules that the person is in, and by what; nothing without rules. */
export function Groups({ user, slots }: GroupsProps) {
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
