import type { License } from '@berth/protocol/admin/licenses';
import { useLine } from '../../data/overview.ts';
import { linkTo } from '../../data/route.ts';
import { Section } from '../../parts/head.tsx';
import { Name } from '../../parts/name.tsx';
import { Table } from '../../parts/table.tsx';
import { nameOf } from '../../words/judge-license.ts';
import { listLines, sayWait } from '../../words/line.ts';
import { formatNumber } from '../../words/numbers.ts';

/** For what people wait, if somebody does. */
export function Lines({ licenses }: { readonly licenses: readonly License[] }) {
  const { waiting, line } = useLine().data ?? { waiting: 0, line: [] };
  if (waiting === 0) return null;
  const note =
    waiting > line.length
      ? `${formatNumber(waiting)}, of whom the first ${formatNumber(line.length)} are counted below`
      : formatNumber(waiting);
  return (
    <Section title="Waiting" note={note}>
      <Table
        columns={[
          ['License', 'most'],
          ['Waiting', 'number'],
          ['Longest wait', 'number'],
        ]}
      >
        {listLines(line, licenses).map(({ license, product, waiting: own, longestSeconds }) => (
          <tr key={product}>
            <td class="grow cut">
              {license === null ? (
                <Name text={product} />
              ) : (
                <a href={linkTo(`licenses/${license.id}`)}>
                  <Name text={nameOf(license)} />
                </a>
              )}
            </td>
            <td class="number" data-label="Waiting">
              {formatNumber(own)}
            </td>
            <td class="number" data-label="Longest wait">
              {sayWait(longestSeconds)}
            </td>
          </tr>
        ))}
      </Table>
    </Section>
  );
}
