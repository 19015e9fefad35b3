import type { ConsumptionHistory } from '@berth/protocol/admin/history';
import type { License } from '@berth/protocol/admin/licenses';
import { ConsumptionChart } from '../../charts/consumption-chart.tsx';
import { readNow } from '../../clock.ts';
import { useResource } from '../../data/resource.ts';
import { AmountBar } from '../../parts/slot-bar.tsx';
import { forecast, PERIOD_WORDS } from '../../words/forecast.ts';
import { countedOf } from '../../words/judge-license.ts';
import { formatAmount } from '../../words/numbers.ts';
import { DAY_MS, formatDate, plural } from '../../words/time.ts';

/** What is consumed of the license itself, and whether it lasts. */
export function Consumption({ license }: { readonly license: License }) {
  const now = readNow();
  const counted = countedOf(license);
  const start = counted === null ? now : forecast(counted, now).startAt;
  const from = Math.max(start, now - 400 * DAY_MS);
  const since = new Date(Math.floor(from / DAY_MS) * DAY_MS).toISOString();
  const history = useResource(
    counted === null ? null : '/api/admin/history/consumption',
    { since, license: license.id },
    { isLive: true },
  );
  if (counted === null) return null;
  const days = amountsByDay(history.data, from, now);
  const ahead = forecast(counted, now);
  const left = Math.max(0, counted.max - counted.total);
  const period = counted.period === null ? 'in all' : PERIOD_WORDS[counted.period];
  const isOver = ahead.expected !== null && ahead.expected > counted.max;
  return (
    <section class="consumption" aria-label="Consumption">
      <div class="figures">
        <Figure
          value={formatAmount(counted.total)}
          text={`of ${formatAmount(counted.max)} consumed ${period}`}
        />
        <Figure
          value={formatAmount(left)}
          text={
            ahead.endAt === null
              ? 'left'
              : `left for ${plural(Math.max(1, Math.ceil((ahead.endAt - now) / DAY_MS)), 'day')}`
          }
        />
        {ahead.perDay > 0 && <Figure value={formatAmount(ahead.perDay)} text="on a day, on average" />}
        {ahead.expected !== null && ahead.endAt !== null && (
          <Figure
            value={formatAmount(ahead.expected)}
            text={`forecast for ${formatDate(ahead.endAt - 1, now)}`}
            isWarning={isOver}
          />
        )}
      </div>
      {history.data !== null && ahead.endAt !== null ? (
        <ConsumptionChart counted={counted} ahead={ahead} days={days} />
      ) : (
        <AmountBar {...counted} expected={ahead.expected} />
      )}
    </section>
  );
}

interface FigureProps {
  readonly value: string;
  readonly text: string;
  readonly isWarning?: boolean;
}

function Figure({ value, text, isWarning = false }: FigureProps) {
  return (
    <div class="figure">
      <b class={isWarning ? 'warning' : ''}>{value}</b>
      <span>{text}</span>
    </div>
  );
}

/** One amount for each day of the period, 0 for days without any. */
function amountsByDay(history: ConsumptionHistory | null, from: number, now: number): readonly number[] {
  const amounts = new Map<string, number>();
  for (const { day, feature, amount } of history?.days ?? []) {
    if (feature === null) amounts.set(day.slice(0, 10), (amounts.get(day.slice(0, 10)) ?? 0) + amount);
  }
  const first = Math.floor(from / DAY_MS);
  const count = Math.floor(now / DAY_MS) - first + 1;
  return Array.from({ length: count }, (_, index) => {
    const day = new Date((first + index) * DAY_MS).toISOString().slice(0, 10);
    return amounts.get(day) ?? 0;
  });
}
