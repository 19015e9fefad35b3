import type { AuditEvent } from '@berth/protocol/admin/audit';
import { Name } from '../../parts/name.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { describeEvent, sayActor, sayKind } from '../../words/describe-event.ts';

export function EventTable({ events }: { readonly events: readonly AuditEvent[] }) {
  if (events.length === 0) return <p class="quiet">Nothing is recorded.</p>;
  return (
    <Table columns={['Time', 'What happened', 'Kind', 'By']}>
      {events.map((event, index) => (
        <tr key={`${event.seq} ${index}`}>
          <td class="nowrap">
            <Time at={event.at} />
          </td>
          <td class="wide sentence-cell" dir="auto">
            {describeEvent(event)}
          </td>
          <td class="quiet nowrap">{sayKind(event.kind)}</td>
          <td class="cut second">
            <Name text={sayActor(event)} />
          </td>
        </tr>
      ))}
    </Table>
  );
}
