import type { GetPath, GetQuery } from '@berth/protocol/admin/admin-api';
import type { Denials, SlotHistory, WhatIf } from '@berth/protocol/admin/history';
import { HeatMap } from '../../charts/heat-map.tsx';
import { SlotsChart } from '../../charts/slots-chart.tsx';
import { WhatIfTable } from '../../charts/what-if-table.tsx';
import { type ApiError, addressOf, send } from '../../data/api.ts';
import { Button } from '../../parts/button.tsx';
import { Section } from '../../parts/head.tsx';
import { saveFile } from '../../parts/save-file.ts';
import { Legend } from '../../parts/slot-bar.tsx';
import { showToast } from '../../parts/toasts.tsx';
import { formatNumber } from '../../words/numbers.ts';
import { DAY_MS, formatDuration, formatSpan, HOUR_MS, MINUTE_MS, plural } from '../../words/time.ts';
import { groupDenials, type HeatCell, type Step, type UsageFigures } from '../../words/usage.ts';
import { findToday, sayLineFigure, sayWhatIf } from '../../words/what-if.ts';

type HistoryPath = Extract<GetPath, `/api/admin/history/${string}`>;

/** What every report takes. */
export type Span = Pick<GetQuery<'/api/admin/history/slots'>, 'since' | 'until' | 'license'>;

/** Saves the report as a CSV file. */
export function CsvLink({ path, query }: { readonly path: HistoryPath; readonly query: Span }) {
  const save = async () => {
    try {
      const response = await send(addressOf(path, query), { headers: { accept: 'text/csv' } });
      saveFile(`${path.split('/').at(-1)}.csv`, await response.blob());
    } catch (error) {
      showToast(`The report was not saved. ${(error as ApiError).message}`);
    }
  };
  return (
    <Button as="link" onClick={save}>
      CSV
    </Button>
  );
}

interface FiguresProps {
  readonly figures: UsageFigures;
  readonly slots: number;
  readonly whatIf: WhatIf | null;
  readonly denials: Denials | null;
}

/** Each number says what it counts; docs/history.md defines them. */
export function Figures({ figures, slots, whatIf, denials }: FiguresProps) {
  const { peak, peakDays, days, workingAverage, mostBorrowed, averageBorrowed } = figures;
  const share = slots === 0 || workingAverage === null ? null : Math.round((workingAverage / slots) * 100);
  return (
    <dl class="key-figures">
      <Figure name="Peak" value={formatNumber(peak)} unit={`of ${formatNumber(slots)} slots`}>
        {days === 0 ? 'not used' : `on ${formatNumber(peakDays)} of ${plural(days, 'day')} with any use`}
      </Figure>
      {workingAverage !== null && (
        <Figure name="Average at work" value={formatNumber(workingAverage)} unit="slots">
          {share === null ? '' : `${share} %, `}Mon to Fri, 08:00 to 18:00
        </Figure>
      )}
      <Figure name="Denials" value={formatNumber(denials?.total ?? figures.denials)} unit="requests">
        retries and features included
      </Figure>
      {whatIf !== null && <WaitedFigure whatIf={whatIf} />}
      <Figure name="Borrowed at once" value={formatNumber(mostBorrowed)} unit="at most">
        {formatNumber(averageBorrowed)} on average
      </Figure>
    </dl>
  );
}

/** What was really waited, if clients waited in line; or else what the replay says. */
function WaitedFigure({ whatIf }: { readonly whatIf: WhatIf }) {
  const { waits } = whatIf;
  if (waits.served + waits.unserved > 0) {
    const [value, who] = sayLineFigure(waits);
    return (
      <Figure name="Waited in line" value={value} unit="median">
        {who}
      </Figure>
    );
  }
  const today = findToday(whatIf);
  if (today === undefined) return null;
  return (
    <Figure name="Time waited" value={formatDuration(today.waiting_ms)} unit="">
      {today.denials === 0
        ? 'nobody waited'
        : `by ${formatNumber(today.denials)}, until a slot was free or they gave up`}
    </Figure>
  );
}

interface FigureProps {
  readonly name: string;
  readonly value: string;
  readonly unit: string;
  readonly children: string | (string | number)[];
}

function Figure({ name, value, unit, children }: FigureProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <b>{value}</b>
        {unit}
        <small>{children}</small>
      </dd>
    </div>
  );
}

interface SlotsReportProps {
  readonly steps: readonly Step[];
  readonly history: SlotHistory;
  readonly slots: number;
  readonly query: Span;
}

export function SlotsReport({ steps, history, slots, query }: SlotsReportProps) {
  const legend = (
    <>
      <Legend
        items={[
          ['peak', 'Peak'],
          ['line', 'Average'],
          ['limit', 'Slots there are'],
          ['denied', 'Denials'],
        ]}
      />
      <CsvLink path="/api/admin/history/slots" query={query} />
    </>
  );
  return (
    <Section
      title="Slots over time"
      note={`${sayStep(history.step_ms)}; denials ${sayStep(groupDenials(steps).lengthMs)} below`}
      end={legend}
    >
      <SlotsChart steps={steps} stepMs={history.step_ms} slots={slots} />
    </Section>
  );
}

interface HeatReportProps {
  readonly cells: readonly HeatCell[];
  readonly slots: number;
  readonly tight: string;
}

export function HeatReport({ cells, slots, tight }: HeatReportProps) {
  return (
    <Section title="When it is tight">
      <p class="second report-lead">{tight}</p>
      <HeatMap cells={cells} slots={slots} />
    </Section>
  );
}

export function WhatIfReport({ whatIf, query }: { readonly whatIf: WhatIf; readonly query: Span }) {
  return (
    <Section
      title="What if there were more or fewer slots?"
      end={<CsvLink path="/api/admin/history/what-if" query={query} />}
    >
      <p class="second report-lead">{sayWhatIf(whatIf)}</p>
      <WhatIfTable whatIf={whatIf} />
    </Section>
  );
}

function sayStep(ms: number): string {
  if (ms === DAY_MS) return 'per day';
  if (ms === HOUR_MS) return 'per hour';
  return ms === MINUTE_MS ? 'per minute' : `per ${formatSpan(ms)}`;
}
