import { escapeHidden } from '@berth/protocol/hidden-characters';
import { useState } from 'preact/hooks';
import { useResource } from '../../data/resource.ts';
import { Button } from '../../parts/button.tsx';
import { Section } from '../../parts/head.tsx';
import { Name } from '../../parts/name.tsx';
import { Shape } from '../../parts/shape.tsx';
import { Show } from '../../parts/states.tsx';
import { PlainTable } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import type { RulesInForce } from '../../words/rules.ts';
import { plural } from '../../words/time.ts';

type Group = RulesInForce['directory_groups'][number];

/** Groups whose members the directory tells, with how old they are; nothing without such groups. */
export function DirectoryGroups({ groups }: { readonly groups: readonly Group[] }) {
  const [open, setOpen] = useState<string | null>(null);
  if (groups.length === 0) return null;
  return (
    <Section title="Groups of the directory" note="asked every ten minutes">
      <PlainTable columns={['Group', 'Last answer', 'In the directory']} hasActions>
        {groups.map((one) => (
          <Line
            key={one.group}
            one={one}
            isOpen={open === one.group}
            onOpen={() => setOpen(open === one.group ? null : one.group)}
          />
        ))}
      </PlainTable>
    </Section>
  );
}

interface LineProps {
  readonly one: Group;
  readonly isOpen: boolean;
  readonly onOpen: () => void;
}

function Line({ one, isOpen, onOpen }: LineProps) {
  const { group, directory, members, answered_at: at, problem } = one;
  return (
    <>
      <tr class="top">
        <td class="cut">
          <Name text={group} isStrong />
        </td>
        <td>
          <Time at={at} as="distance" />
        </td>
        <td class="breaks">
          {escapeHidden(directory)}
          {problem !== null && (
            <small class="loud-rule">
              <Shape level="warning" /> {problem} The members stay as they were.
            </small>
          )}
        </td>
        <td class="right">
          <Button as="link" isExpanded={isOpen} onClick={onOpen}>
            {plural(members, 'member')}
          </Button>
        </td>
      </tr>
      {isOpen && (
        <tr>
          <td colSpan={4} class="breaks">
            <Members group={group} />
          </td>
        </tr>
      )}
    </>
  );
}

function Members({ group }: { readonly group: string }) {
  const members = useResource('/api/admin/rules/members', { group }, { isLive: true });
  return (
    <Show of={members} what="The members" rows={1}>
      {(data) => <span dir="auto">{data.members.join(' · ') || 'Nobody is in it.'}</span>}
    </Show>
  );
}
