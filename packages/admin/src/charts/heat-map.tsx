import { type HeatCell, heatLevel } from '../words/usage.ts';

const DAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

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
            {cell.hour === 0 && <span class="axis-label">{DAYS[cell.weekday]}</span>}
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
  return `${DAYS[weekday]} ${hour}:00: ${average.toFixed(1)} of ${slots} in use, ${denials} denials`;
}

const TIGHT = 0.8;

/** When most slots are in use, in words: the days and the hours. */
export function sayTight(cells: readonly HeatCell[], slots: number): string {
  const tight = cells.filter(({ average }) => slots > 0 && average / slots >= TIGHT);
  if (tight.length === 0) return 'It is never tight: less than 80 % are in use at every hour, on average.';
  const days = [...new Set(tight.map(({ weekday }) => weekday))].sort((one, other) => one - other);
  const [first = 0] = days;
  const last = days.at(-1) ?? first;
  const isRun = days.length === last - first + 1 && days.length > 2;
  const named = isRun ? `${DAYS[first]} to ${DAYS[last]}` : days.map((day) => DAYS[day]).join(', ');
  const hours = tight.map(({ hour }) => hour);
  const clock = (hour: number) => `${String(hour).padStart(2, '0')}:00`;
  return `${named}, between ${clock(Math.min(...hours))} and ${clock(Math.max(...hours) + 1)}.`;
}
