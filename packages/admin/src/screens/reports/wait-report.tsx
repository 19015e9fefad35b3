import type { License } from '@berth/protocol/admin/licenses';
import { useResource } from '../../data/resource.ts';
import { Section } from '../../parts/head.tsx';
import { Name } from '../../parts/name.tsx';
import { Table } from '../../parts/table.tsx';
import { formatNumber } from '../../words/numbers.ts';
import { sayWaited } from '../../words/what-if.ts';
import { CsvLink, type Span } from './slot-reports.tsx';

interface WaitReportProps {
  readonly license: License;
  readonly query: Span;
}

/** How long users waited in the line for slots of the license and of its features. */
export function WaitReport({ license, query }: WaitReportProps) {
  const { data } = useResource('/api/admin/history/waits', query);
  if (data === null || data.waits.length === 0) return null;
  const nameOf = (code: string) => license.product_features.find((one) => one.code === code)?.name || code;
  return (
    <Section
      title="Waiting in line"
      note="by whole days (UTC), without those who still wait"
      end={<CsvLink path="/api/admin/history/waits" query={query} />}
    >
      <Table
        columns={[
          'License or feature',
          ['Got a slot', 'number'],
          ['Half within', 'number'],
          ['9 of 10 within', 'number'],
          ['Longest', 'number'],
          ['Gave up', 'number'],
        ]}
      >
        {data.waits.map((one) => (
          <tr key={one.feature}>
            <td class="grow cut">
              <Name text={one.feature === null ? 'The license itself' : nameOf(one.feature)} />
            </td>
            <td class="number" data-label="Got a slot">
              {formatNumber(one.served)}
            </td>
            <td class="number" data-label="Half within">
              {sayWaited(one.median_ms)}
            </td>
            <td class="number" data-label="9 of 10 within">
              {sayWaited(one.p90_ms)}
            </td>
            <td class="number" data-label="Longest">
              {sayWaited(one.longest_ms)}
            </td>
            <td class="number" data-label="Gave up">
              {formatNumber(one.unserved)}
              {one.unserved > 0 && `, half within ${sayWaited(one.unserved_median_ms)}`}
            </td>
          </tr>
        ))}
      </Table>
    </Section>
  );
}
