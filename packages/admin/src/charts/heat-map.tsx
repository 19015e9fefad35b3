import { type HeatCell, heatLevel, sayTight, WEEKDAYS } from '../words/usage.ts';

interface HeatMapProps {
  readonly cells: readonly HeatCell[];
  readonly slots: number;
}

/** The hours of a week: the darker, the more slots are in use. Numbers are denials. */
export function HeatMap({ cells, slots }: HeatMapProps) {
  return (
    <>
      <div class="heat" role="img" aria-label={sayTight(cells, slots)}>
        <span class="axis-label" />
        {Array.from({ length: 24 }, (_, hour) => (
          <span key={hour} class="axis-label">
            {hour % 3 === 0 ? String(hour).padStart(2, '0') : ''}
          </span>
        ))}
        {cells.map((cell) => (
          <>
            {cell.hour === 0 && <span class="axis-label">{WEEKDAYS[cell.weekday]}</span>}
            <div
              class={`heat-${heatLevel(slots === 0 ? 0 : cell.average / slots)}`}
              title={sayCell(cell, slots)}
            >
              {cell.denials > 0 ? (cell.denials > 99 ? '99+' : cell.denials) : ''}
            </div>
          </>
        ))}
      </div>
      <div class="heat-legend small second">
        <span>Slots in use, 0 %</span>
        {[0, 1, 2, 3, 4, 5].map((level) => (
          <i key={level} class={`heat-${level}`} />
        ))}
        <span>100 %</span>
        <span class="end">Numbers are denials</span>
      </div>
    </>
  );
}

function sayCell({ weekday, hour, average, denials }: HeatCell, slots: number): string {
  return `${WEEKDAYS[weekday]} ${hour}:00: ${average.toFixed(1)} of ${slots} in use, ${denials} denials`;
}
