import { formatNumber } from '../words/numbers.ts';
import { type Reserved, sayFilled, sayReserved } from '../words/rules.ts';
import { type SlotRun, splitSlots } from '../words/slot-runs.ts';

interface SlotBarProps {
  readonly slots: number;
  /** Includes what is borrowed. */
  readonly inUse: number;
  readonly borrowed: number;
  readonly reserved?: readonly Reserved[];
}

/** Up to here every slot is a cell. */
const MAX_CELLS = 48;

/**
 * Solid: in use. Hatched: borrowed. Outlined: free. What is reserved has a bracket, in which dashed cells are
 * still to come. The numbers stand beside it.
 */
export function SlotBar({ slots, inUse, borrowed, reserved = [] }: SlotBarProps) {
  const [used, all, lent] = [inUse, slots, borrowed].map(formatNumber);
  const notes = reserved.map((one) => `; ${sayReserved(one)}`).join('');
  const label = `${used} of ${all} slots in use, ${lent} borrowed${notes}`;
  const isWhole = slots > MAX_CELLS || inUse > slots;
  const parts = splitSlots({ slots, inUse, borrowed }, reserved);
  return (
    <span class="slot-parts" role="img" aria-label={label}>
      {parts.map((part, index) => (
        <SlotPart key={index} part={part} isWhole={isWhole} />
      ))}
    </span>
  );
}

function SlotPart({ part, isWhole }: { readonly part: SlotRun; readonly isWhole: boolean }) {
  const { held, lent, toCome, free, isReserved } = part;
  const runs = [
    ['held', held],
    ['lent', lent],
    ['to-come', toCome],
    ['', free],
  ] as const;
  const cells = runs.flatMap(([name, count]) =>
    isWhole
      ? [<i key={name} class={name} style={{ flexGrow: count }} hidden={count === 0} />]
      : Array.from({ length: count }, (_, index) => <i key={`${name} ${index}`} class={name} />),
  );
  return (
    <span class={isReserved ? 'reserved' : ''} style={{ flexGrow: held + lent + toCome + free }}>
      <span class={isWhole ? 'slot-bar whole' : 'slot-bar'}>{cells}</span>
    </span>
  );
}

interface SlotNotesProps {
  readonly slots: number;
  readonly inUse: number;
  readonly reserved: readonly Reserved[];
}

/** What the brackets of a bar mean, below it. */
export function SlotNotes({ slots, inUse, reserved }: SlotNotesProps) {
  const sum = (read: (one: Reserved) => number) => reserved.reduce((total, one) => total + read(one), 0);
  const all = slots - sum((one) => one.slots);
  const used = inUse - sum((one) => one.slots - one.stillToCome);
  if (reserved.length === 0) return null;
  return (
    <ul class="slot-notes">
      {all > 0 && (
        <li>
          <b>{formatNumber(all)} for everybody</b>
          <span>{used >= all ? 'all in use' : `${formatNumber(Math.max(0, used))} in use`}</span>
        </li>
      )}
      {reserved.map((one, index) => (
        <li key={index}>
          <b>
            {formatNumber(one.slots)} reserved for <bdi>{one.group}</bdi>
          </b>
          <span>
            {sayFilled(one)}
            {one.stillToCome > 0 && `, ${formatNumber(one.stillToCome)} still to come`}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** The same in one line, for tables. */
export function ReservedLine({ reserved }: { readonly reserved: readonly Reserved[] }) {
  if (reserved.length === 0) return null;
  return <span class="reserved-line">{reserved.map(sayReserved).join('; ')}</span>;
}

interface AmountBarProps {
  readonly total: number;
  readonly max: number;
  /** Expected at the end of the period. */
  readonly expected: number | null;
}

/** What is consumed, and what is expected until the end of the period. */
export function AmountBar({ total, max, expected }: AmountBarProps) {
  const most = Math.max(max, 1);
  const part = (amount: number) => `${Math.min(100, (Math.max(0, amount) / most) * 100)}%`;
  return (
    <span
      class="amount-bar"
      role="img"
      aria-label={`${formatNumber(total)} of ${formatNumber(max)} consumed`}
    >
      {expected !== null && <i class="ahead" style={{ width: part(expected) }} />}
      <i style={{ width: part(total) }} />
    </span>
  );
}

type Sample = readonly [className: string, meaning: string];

const SLOT_SAMPLES: readonly Sample[] = [
  ['', 'In use'],
  ['hatched', 'Borrowed'],
  ['free', 'Free'],
];

interface SlotLegendProps {
  readonly hasForecast?: boolean;
  readonly hasReserved?: boolean;
}

export function SlotLegend({ hasForecast = false, hasReserved = false }: SlotLegendProps) {
  const reserved: readonly Sample[] = hasReserved ? [['to-come', 'Reserved, still to come']] : [];
  const forecast: readonly Sample[] = hasForecast ? [['peak', 'Forecast']] : [];
  return <Legend items={[...SLOT_SAMPLES, ...reserved, ...forecast]} />;
}

/** What the colours of a chart or bar mean. */
export function Legend({ items }: { readonly items: readonly Sample[] }) {
  return (
    <span class="legend" aria-hidden="true">
      {items.map(([className, meaning]) => (
        <span key={meaning}>
          <i class={`swatch ${className}`.trim()} />
          {meaning}
        </span>
      ))}
    </span>
  );
}
