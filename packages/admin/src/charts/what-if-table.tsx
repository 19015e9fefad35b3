import type { WhatIf } from '@berth/protocol/admin/history';
import { formatNumber } from '../words/numbers.ts';
import { HOUR_MS } from '../words/time.ts';
import { chooseColumns, type WhatIfColumn } from '../words/what-if.ts';

/** With so many slots: so many denials, so many hours of waiting. */
export function WhatIfTable({ whatIf }: { readonly whatIf: WhatIf }) {
  const shown = chooseColumns(whatIf);
  const most = Math.max(1, ...shown.map(({ denials }) => denials));
  const className = (slots: number) =>
    slots === whatIf.slots ? 'now' : slots === whatIf.enough ? 'chosen' : '';
  const row = (name: string, read: (column: WhatIfColumn) => number) => (
    <tr>
      <th scope="row">{name}</th>
      {shown.map((column) => (
        <td key={column.slots} class={className(column.slots)}>
          {formatNumber(read(column))}
        </td>
      ))}
    </tr>
  );
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
        {row('Slots', ({ slots }) => slots)}
        {row('Denials', ({ denials }) => denials)}
        {row('Hours waited', ({ waiting_ms: ms }) => roundHours(ms / HOUR_MS))}
      </tbody>
    </table>
  );
}

/** Tenths only where they matter: a column is narrow. */
function roundHours(hours: number): number {
  return hours < 100 ? Math.round(hours * 10) / 10 : Math.round(hours);
}
