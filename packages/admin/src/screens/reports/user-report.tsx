import { useState } from 'preact/hooks';
import { useResource } from '../../data/resource.ts';
import { Button } from '../../parts/button.tsx';
import { Section } from '../../parts/head.tsx';
import { UserName } from '../../parts/name.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { formatNumber } from '../../words/numbers.ts';
import { formatDuration } from '../../words/time.ts';
import { CsvLink, type Span } from './slot-reports.tsx';

const FEW = 10;

/** Who used the license, and for how long. */
export function UserReport({ query }: { readonly query: Span }) {
  const [isOpen, setOpen] = useState(false);
  const { data } = useResource('/api/admin/history/users', { ...query, limit: 500 });
  if (data === null) return null;
  // Denials are counted above, to the minute; here the days count whole.
  const users = data.users.filter(
    ({ feature, grants, sessions }) => feature === null && grants + sessions > 0,
  );
  if (users.length === 0) return null;
  const end = (
    <>
      {users.length > FEW && (
        <Button as="link" isExpanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Show less' : `Show all ${formatNumber(users.length)}`}
        </Button>
      )}
      <CsvLink path="/api/admin/history/users" query={query} />
    </>
  );
  return (
    <Section
      title="Users"
      note={`${formatNumber(users.length)}, by whole days (UTC), without slots still held`}
      end={end}
    >
      <Table
        rows={users.slice(0, isOpen ? 500 : FEW)}
        keyOf={({ license_id, user, others }) => `${license_id} ${user} ${others}`}
        hasLabels
        columns={[
          ['User', (one) => <UserName {...one} />, 'grow cut'],
          ['Slots taken', ({ grants }) => formatNumber(grants), 'number'],
          ['Held for', ({ held_ms }) => formatDuration(held_ms), 'number'],
          ['Last seen', ({ last_at }) => <Time at={last_at} />, 'number'],
        ]}
      />
    </Section>
  );
}
