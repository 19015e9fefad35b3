import type { Denials, SlotHistory, WhatIf } from '@berth/protocol/admin/history';
import type { License } from '@berth/protocol/admin/licenses';
import { useState } from 'preact/hooks';
import { readNow } from '../../clock.ts';
import { useLicenses } from '../../data/overview.ts';
import { useResource } from '../../data/resource.ts';
import { setParams, usePlace } from '../../data/route.ts';
import { FilterChip, RangeDialog, Segments } from '../../parts/filters.tsx';
import { PageHead } from '../../parts/head.tsx';
import { Empty, Show } from '../../parts/states.tsx';
import { sayRange } from '../../words/date-range.ts';
import { nameOf } from '../../words/judge-license.ts';
import { formatMoment, formatSpan, MINUTE_MS, plural, zoneName } from '../../words/time.ts';
import {
  fillSteps,
  heatOf,
  PERIOD_CHOICES,
  type ReportPeriod,
  readReportPeriod,
  sayTight,
  summarize,
} from '../../words/usage.ts';
import { sayFound, sayNeed } from '../../words/what-if.ts';
import { ConsumptionReport } from './consumption-report.tsx';
import { DenialReport } from './denial-report.tsx';
import { Figures, HeatReport, SlotsReport, WhatIfReport } from './slot-reports.tsx';
import { UserReport } from './user-report.tsx';
import { WaitReport } from './wait-report.tsx';

/** How many slots do we need? */
export function Reports() {
  const licenses = useLicenses();
  return (
    <div class="content">
      <Show of={licenses} what="The licenses">
        {(data) =>
          data.licenses.length === 0 ? (
            <Empty title="There is nothing to report yet">
              <p>Reports begin with the first license.</p>
            </Empty>
          ) : (
            <ReportsOf licenses={data.licenses} />
          )
        }
      </Show>
    </div>
  );
}

const ALL = 'all';

function ReportsOf({ licenses }: { readonly licenses: readonly License[] }) {
  const { params } = usePlace();
  const period = readReportPeriod(params.get('period'), readNow());
  const asked = params.get('license');
  if (asked === ALL) return <AllReport licenses={licenses} period={period} />;
  const fullest = licenses.toSorted((one, other) => shareOf(other) - shareOf(one))[0] as License;
  const license = licenses.find(({ id }) => String(id) === asked) ?? fullest;
  return <LicenseReport key={license.id} {...{ licenses, license, period }} />;
}

function shareOf({ floating_in_use: used, floating_users: slots }: License): number {
  return slots === 0 ? -1 : used / slots;
}

function rangeOf({ since, until }: ReportPeriod) {
  return { since: new Date(since).toISOString(), until: new Date(until).toISOString() };
}

function sayEnd({ until }: ReportPeriod): string {
  const now = readNow();
  return until >= now ? 'now' : formatMoment(until, now);
}

interface LicenseReportProps {
  readonly licenses: readonly License[];
  readonly license: License;
  readonly period: ReportPeriod;
}

function LicenseReport({ licenses, license, period }: LicenseReportProps) {
  const query = { ...rangeOf(period), license: license.id };
  const history = useResource('/api/admin/history/slots', query, { everyMs: 5 * MINUTE_MS });
  const whatIf = useResource('/api/admin/history/what-if', query).data;
  const denials = useResource('/api/admin/history/denials', { ...query, limit: 200 }).data;
  const now = readNow();
  const series = history.data?.series.find(({ feature }) => feature === null);
  const begin = Math.max(period.since, Date.parse(series?.begins_at ?? '') || 0);
  const isYoung = begin > period.since;
  const words = isYoung ? formatSpan(now - begin) : period.words;
  return (
    <>
      <PageHead
        title={whatIf === null ? nameOf(license) : sayNeed(nameOf(license), whatIf, words)}
        lead={whatIf === null ? undefined : sayFound(whatIf, denials)}
      />
      <ReportFilters {...{ licenses, period }} value={String(license.id)}>
        {formatMoment(begin, now)}
        {isYoung && ', when it was added,'} to {sayEnd(period)}, times in {zoneName(now)}
      </ReportFilters>
      {history.isMissing && (
        <Empty title="This server records no history">
          <p>Reports need a server that records how slots are used.</p>
        </Empty>
      )}
      <Show of={history} what="The history" rows={10}>
        {(data) => <SlotPart {...{ license, query, whatIf, denials }} history={data} />}
      </Show>
      {denials !== null && <DenialReport {...{ denials, query, license }} />}
      <WaitReport {...{ license, query }} />
      <UserReport query={query} />
      <ConsumptionReport license={license} query={query} />
    </>
  );
}

interface SlotPartProps {
  readonly license: License;
  readonly history: SlotHistory;
  readonly whatIf: WhatIf | null;
  readonly denials: Denials | null;
  readonly query: Readonly<Record<string, string | number>>;
}

function SlotPart({ license, history, whatIf, denials, query }: SlotPartProps) {
  const steps = fillSteps(history, license.id, readNow());
  const cells = heatOf(steps, history.step_ms);
  const slots = license.floating_users;
  return (
    <>
      <Figures figures={summarize(steps)} slots={slots} whatIf={whatIf} denials={denials} />
      <SlotsReport steps={steps} history={history} slots={slots} query={query} />
      <div class={cells === null ? '' : 'columns equal'}>
        {cells !== null && <HeatReport cells={cells} slots={slots} tight={sayTight(cells, slots)} />}
        {whatIf !== null && <WhatIfReport whatIf={whatIf} query={query} />}
      </div>
    </>
  );
}

/** The denials of all licenses together. Slots are counted for each license. */
function AllReport({ licenses, period }: Omit<LicenseReportProps, 'license'>) {
  const query = rangeOf(period);
  const denials = useResource('/api/admin/history/denials', { ...query, limit: 200 });
  const now = readNow();
  const total = denials.data?.total ?? 0;
  const title =
    total === 0 ? 'Nobody was refused' : `${plural(total, 'request was', 'requests were')} refused`;
  return (
    <>
      <PageHead
        title={denials.data === null ? 'Denials' : title}
        lead="By all licenses and their features."
      />
      <ReportFilters {...{ licenses, period }} value={ALL}>
        {formatMoment(period.since, now)} to {sayEnd(period)}, times in {zoneName(now)}
      </ReportFilters>
      <Show of={denials} what="The denials" rows={10}>
        {(data) => <DenialReport denials={data} query={query} license={null} />}
      </Show>
    </>
  );
}

interface ReportFiltersProps {
  readonly licenses: readonly License[];
  readonly value: string;
  readonly period: ReportPeriod;
  /** The time that the report is about. */
  readonly children: unknown;
}

const OTHER = 'other';

function ReportFilters({ licenses, value, period, children }: ReportFiltersProps) {
  const [isOpen, setOpen] = useState(false);
  const choose = (chosen: string) => setParams({ period: chosen });
  const isOther = !PERIOD_CHOICES.some(([choice]) => choice === period.value);
  const other = isOther ? sayRange(period, readNow()) : 'Other…';
  return (
    <div class="filters">
      <FilterChip
        label="License"
        name="license"
        value={value}
        choices={[
          [ALL, 'All licenses'],
          ...licenses.map((license) => [String(license.id), nameOf(license)] as const),
        ]}
        isRequired
      />
      <Segments
        label="Period"
        value={isOther ? OTHER : period.value}
        choices={[...PERIOD_CHOICES, [OTHER, other]]}
        onChange={(chosen) => (chosen === OTHER ? setOpen(true) : choose(chosen))}
      />
      <span class="end">{children as string}</span>
      {isOpen && <RangeDialog value={period.value} onChoose={choose} onClose={() => setOpen(false)} />}
    </div>
  );
}
