import type { ConsumptionHistory } from '@berth/protocol/admin/history';
import type { License } from '@berth/protocol/admin/licenses';
import { DAY_LABEL_WIDTH, useWidth } from '../../charts/chart-frame.tsx';
import { readNow } from '../../clock.ts';
import { useResource } from '../../data/resource.ts';
import { usePlace } from '../../data/route.ts';
import { FilterChip } from '../../parts/filters.tsx';
import { Section } from '../../parts/head.tsx';
import { axisSteps, formatAmount } from '../../words/numbers.ts';
import { formatDay } from '../../words/time.ts';
import { CsvLink, type Span } from './slot-reports.tsx';

interface ConsumptionReportProps {
  readonly license: License;
  readonly query: Span;
}

/** What was consumed on each day, of the license or of one of its features. */
export function ConsumptionReport({ license, query }: ConsumptionReportProps) {
  const { data } = useResource('/api/admin/history/consumption', query);
  const asked = usePlace().params.get('counted');
  if (data === null || data.days.length === 0) return null;
  const features = [...new Set(data.days.map(({ feature }) => feature ?? ''))].sort();
  const chosen = features.includes(asked ?? '') ? (asked ?? '') : (features[0] ?? '');
  const days = data.days
    .filter(({ feature }) => (feature ?? '') === chosen)
    .toSorted((one, other) => one.day.localeCompare(other.day));
  const total = days.reduce((sum, { amount }) => sum + amount, 0);
  const names = new Map(license.product_features.map(({ code, name }) => [code, name || code]));
  return (
    <Section
      title="Consumption"
      note={`${formatAmount(total)} in this period`}
      end={<CsvLink path="/api/admin/history/consumption" query={query} />}
    >
      {features.length > 1 && (
        <div class="filters">
          <FilterChip
            label="Of"
            name="counted"
            value={chosen === '' ? null : chosen}
            choices={features
              .filter((code) => code !== '')
              .map((code) => [code, names.get(code) ?? code] as const)}
          />
        </div>
      )}
      <DayBars days={days} />
    </Section>
  );
}

const HEIGHT = 160;
const BASE = 132;
const LEFT = 64;

function DayBars({ days }: { readonly days: ConsumptionHistory['days'] }) {
  const { box, width } = useWidth(1000);
  const steps = axisSteps(Math.max(1, ...days.map(({ amount }) => amount)), 3);
  const most = steps.at(-1) ?? 1;
  const wide = (width - LEFT) / Math.max(1, days.length);
  const y = (value: number) => 8 + (1 - value / most) * (BASE - 8);
  const now = readNow();
  const every = Math.max(1, Math.ceil(DAY_LABEL_WIDTH / wide));
  return (
    <div ref={box}>
      <svg
        class="chart"
        viewBox={`0 0 ${width} ${HEIGHT}`}
        height={HEIGHT}
        role="img"
        aria-label="Consumption by day"
      >
        {steps.map((step) => (
          <g key={step}>
            <path class="rule" d={`M${LEFT} ${y(step)}H${width}`} />
            <text x={LEFT - 8} y={y(step) + 4} text-anchor="end">
              {formatAmount(step)}
            </text>
          </g>
        ))}
        {days.map(({ day, amount }, index) => (
          <g key={day}>
            <rect
              class="bar-fill"
              x={LEFT + index * wide + wide * 0.15}
              y={y(Math.max(0, amount))}
              width={Math.max(1, Math.min(24, wide * 0.7))}
              height={BASE - y(Math.max(0, amount))}
            >
              <title>
                {formatDay(Date.parse(day), now)}: {formatAmount(amount)}
              </title>
            </rect>
            {index % every === 0 && LEFT + index * wide + DAY_LABEL_WIDTH <= width && (
              <text x={LEFT + index * wide} y={HEIGHT - 8}>
                {formatDay(Date.parse(day), now)}
              </text>
            )}
          </g>
        ))}
      </svg>
    </div>
  );
}
