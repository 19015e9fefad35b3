import type { WhatIf } from '@berth/protocol/admin/history';
import { formatNumber } from '../words/numbers.ts';
import { formatDuration, HOUR_MS } from '../words/time.ts';

/** So many numbers of slots fit side by side. */
const MAX_COLUMNS = 10;

/** With so many slots: so many denials, so many hours of waiting. */
export function WhatIfTable({ whatIf }: { readonly whatIf: WhatIf }) {
  const shown = chooseColumns(whatIf);
  const most = Math.max(1, ...shown.map(({ denials }) => denials));
  const best = findEnough(whatIf);
  const className = (slots: number) => (slots === whatIf.slots ? 'now' : slots === best ? 'chosen' : '');
  return (
    <table class="what-if">
      <caption class="hidden-text">Denials and waiting with other numbers of slots</caption>
      <tbody>
        <tr class="bars">
          <th>
            <span class="hidden-text">As bars</span>
          </th>
          {shown.map(({ slots, denials }) => (
            <td key={slots} class={className(slots)}>
              {slots === whatIf.slots && <span class="small">today</span>}
              <i style={{ height: `${Math.max(1, (denials / most) * 84)}px` }} />
            </td>
          ))}
        </tr>
        <Row name="Slots" shown={shown} className={className} read={({ slots }) => formatNumber(slots)} />
        <Row
          name="Denials"
          shown={shown}
          className={className}
          read={({ denials }) => formatNumber(denials)}
        />
        <Row
          name="Hours waited"
          shown={shown}
          className={className}
          read={({ waiting_ms: ms }) => formatNumber(Math.round((ms / HOUR_MS) * 10) / 10)}
        />
      </tbody>
    </table>
  );
}

type Column = WhatIf['curve'][number];

interface RowProps {
  readonly name: string;
  readonly shown: readonly Column[];
  readonly className: (slots: number) => string;
  readonly read: (column: Column) => string;
}

function Row({ name, shown, className, read }: RowProps) {
  return (
    <tr>
      <th scope="row">{name}</th>
      {shown.map((column) => (
        <td key={column.slots} class={className(column.slots)}>
          {read(column)}
        </td>
      ))}
    </tr>
  );
}

/** Around today's number, and up to the number without denials. */
function chooseColumns({ curve, slots }: WhatIf): readonly Column[] {
  const at = Math.max(
    0,
    curve.findIndex((column) => column.slots >= slots),
  );
  const from = Math.max(0, Math.min(at - 4, curve.length - MAX_COLUMNS));
  return curve.slice(from, from + MAX_COLUMNS);
}

/** The smallest number of slots without denials; `null`: not on the curve. */
export function findEnough({ curve }: WhatIf): number | null {
  return curve.find(({ denials }) => denials === 0)?.slots ?? null;
}

/** What one more step would bring, in a sentence. */
export function sayWhatIf(whatIf: WhatIf): string {
  const now = whatIf.curve.find(({ slots }) => slots === whatIf.slots);
  const enough = findEnough(whatIf);
  if (now === undefined || now.denials === 0 || enough === null) return '';
  const waiting = formatDuration(now.waiting_ms);
  const instead = `no denials instead of ${formatNumber(now.denials)}`;
  return `With ${formatNumber(enough)} slots: ${instead}, and nobody waits instead of ${waiting} in all.`;
}
