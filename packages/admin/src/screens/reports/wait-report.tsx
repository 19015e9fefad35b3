import type { Waits } from '@berth/protocol/admin/history';
import type { License } from '@berth/protocol/admin/licenses';
import { useResource } from '../../data/resource.ts';
import { Section } from '../../parts/head.tsx';
import { Name } from '../../parts/name.tsx';
import { Table } from '../../parts/table.tsx';
import { formatNumber } from '../../words/numbers.ts';
import { sayWaited } from '../../words/what-if.ts';
import { sayLender } from './denial-report.tsx';
import { CsvLink, type Span } from './slot-reports.tsx';

interface WaitReportProps {
  readonly license: License;
  readonly query: Span;
}

/** How long users waited in the line for slots of the license and of its features. */
export function WaitReport({ license, query }: WaitReportProps) {
  const { data } = useResource('/api/admin/history/waits', query);
  if (data === null || data.waits.length === 0) return null;
  return (
    <Section
      title="Waiting in line"
      note="by whole days (UTC), without those who still wait"
      end={<CsvLink path="/api/admin/history/waits" query={query} />}
    >
      <Table
        rows={data.waits}
        keyOf={({ feature }) => String(feature)}
        hasLabels
        columns={[
          ['License or feature', ({ feature }) => <Name text={sayLender(license, feature)} />, 'grow cut'],
          ['Got a slot', ({ served }) => formatNumber(served), 'number'],
          ['Half within', ({ median_ms }) => sayWaited(median_ms), 'number'],
          ['9 of 10 within', ({ p90_ms }) => sayWaited(p90_ms), 'number'],
          ['Longest', ({ longest_ms }) => sayWaited(longest_ms), 'number'],
          ['Gave up', sayGivenUp, 'number'],
        ]}
      />
    </Section>
  );
}

function sayGivenUp({ unserved, unserved_median_ms }: Waits): string {
  const within = unserved > 0 ? `, half within ${sayWaited(unserved_median_ms)}` : '';
  return `${formatNumber(unserved)}${within}`;
}
