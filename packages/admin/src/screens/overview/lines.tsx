import type { License } from '@berth/protocol/admin/licenses';
import { useLine } from '../../data/overview.ts';
import { Section } from '../../parts/head.tsx';
import { LicenseName, Name } from '../../parts/name.tsx';
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
        rows={listLines(line, licenses)}
        keyOf={({ product }) => product}
        hasLabels
        columns={[
          ['License', drawLender, 'grow cut most'],
          ['Waiting', (one) => formatNumber(one.waiting), 'number'],
          ['Longest wait', ({ longestSeconds }) => sayWait(longestSeconds), 'number'],
        ]}
      />
    </Section>
  );
}

function drawLender({ license, product }: ReturnType<typeof listLines>[number]) {
  return license === null ? <Name text={product} /> : <LicenseName id={license.id} name={nameOf(license)} />;
}
