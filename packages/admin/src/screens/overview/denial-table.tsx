import type { Denial } from '@berth/protocol/admin/history';
import { readNow } from '../../clock.ts';
import { linkTo } from '../../data/route.ts';
import { Name, UserName } from '../../parts/name.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { sayDenial } from '../../words/describe-event.ts';
import { formatNumber } from '../../words/numbers.ts';

function keyOf({ license_id, user, first_at, reason, rule, feature }: Denial): string {
  return `${license_id} ${user} ${first_at} ${reason} ${rule} ${feature}`;
}

/** Who was refused and why. */
export function DenialTable({ denials }: { readonly denials: readonly Denial[] }) {
  return (
    <Table columns={['Time', 'User', ['Host', 'no-tablet'], 'License', 'Why', ['Asked', 'number']]}>
      {denials.map((denial) => (
        <tr key={keyOf(denial)}>
          <td class="nowrap">
            <Time at={denial.last_at} />
          </td>
          <td class="grow cut">
            <UserName {...denial} />
          </td>
          <td class="cut no-tablet">
            <Name text={denial.host ?? denial.address ?? '–'} />
          </td>
          <td class="cut">
            <a href={linkTo(`licenses/${denial.license_id}`)}>
              <Name text={denial.name || denial.product} />
            </a>
          </td>
          <td class="wide">{sayDenial(denial, readNow())}</td>
          <td class="number">{denial.count === 1 ? 'once' : `${formatNumber(denial.count)} times`}</td>
        </tr>
      ))}
    </Table>
  );
}
