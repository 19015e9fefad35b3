import { formatNumber } from '../words/numbers.ts';

interface SlotBarProps {
  readonly slots: number;
  /** Includes what is borrowed. */
  readonly inUse: number;
  readonly borrowed: number;
}

/** Up to here every slot is a cell. */
const MAX_CELLS = 48;

/** Solid: in use. Hatched: borrowed. Outlined: free. The numbers stand beside it. */
export function SlotBar({ slots, inUse, borrowed }: SlotBarProps) {
  const held = Math.max(0, inUse - borrowed);
  const [used, all, lent] = [inUse, slots, borrowed].map(formatNumber);
  const label = `${used} of ${all} slots in use, ${lent} borrowed`;
  if (slots > MAX_CELLS || inUse > slots) {
    const whole = Math.max(slots, inUse, 1);
    return (
      <span class="slot-bar whole" role="img" aria-label={label}>
        <i class="held" style={{ width: `${(held / whole) * 100}%` }} />
        <i class="lent" style={{ width: `${(Math.min(borrowed, inUse) / whole) * 100}%` }} />
      </span>
    );
  }
  return (
    <span class="slot-bar" role="img" aria-label={label}>
      {Array.from({ length: slots }, (_, index) => (
        <i key={index} class={index < held ? 'held' : index < inUse ? 'lent' : ''} />
      ))}
    </span>
  );
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

export function SlotLegend({ hasForecast = false }: { readonly hasForecast?: boolean }) {
  return <Legend items={hasForecast ? [...SLOT_SAMPLES, ['peak', 'Forecast']] : SLOT_SAMPLES} />;
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
