import type { AuditEvent } from '@berth/protocol/admin/audit';
import { linkTo } from '../../data/route.ts';
import { Name } from '../../parts/name.tsx';
import { Time } from '../../parts/time.tsx';
import { describeEvent, sayActor, sayKind } from '../../words/describe-event.ts';

interface EventTableProps {
  readonly events: readonly AuditEvent[];
  /** The names of licenses, to show a column with them. */
  readonly names?: ReadonlyMap<number, string>;
}

export function EventTable({ events, names }: EventTableProps) {
  if (events.length === 0) return <p class="quiet">Nothing is recorded.</p>;
  return (
    <div class="items">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">What happened</th>
            {names !== undefined && <th scope="col">License</th>}
            <th scope="col">Kind</th>
            <th scope="col">By</th>
          </tr>
        </thead>
        <tbody>
          {events.map((event, index) => (
            <tr key={`${event.seq} ${index}`}>
              <td class="nowrap">
                <Time at={event.at} />
              </td>
              <td class="wide sentence-cell" dir="auto">
                {describeEvent(event)}
              </td>
              {names !== undefined && (
                <td class="cut">
                  <LicenseLink id={event.license_id} names={names} />
                </td>
              )}
              <td class="quiet nowrap">{sayKind(event.kind)}</td>
              <td class="cut second">
                <Name text={sayActor(event)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function LicenseLink({
  id,
  names,
}: {
  readonly id: number | null;
  readonly names: ReadonlyMap<number, string>;
}) {
  if (id === null) return <span class="quiet">–</span>;
  const name = names.get(id);
  if (name === undefined) return <span class="quiet">{id}</span>;
  return (
    <a href={linkTo(`licenses/${id}`)}>
      <Name text={name} />
    </a>
  );
}
