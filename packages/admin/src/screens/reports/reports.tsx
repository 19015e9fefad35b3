import type { Denials, SlotHistory, WhatIf } from '@berth/protocol/admin/history';
import type { License } from '@berth/protocol/admin/licenses';
import { sayTight } from '../../charts/heat-map.tsx';
import { findEnough } from '../../charts/what-if-table.tsx';
import { readNow } from '../../clock.ts';
import { useLicenses } from '../../data/overview.ts';
import { useResource } from '../../data/resource.ts';
import { setParams, usePlace } from '../../data/route.ts';
import { LicenseChip, Segments } from '../../parts/filters.tsx';
import { PageHead } from '../../parts/head.tsx';
import { Empty, Show } from '../../parts/states.tsx';
import { nameOf } from '../../words/judge-license.ts';
import { formatNumber } from '../../words/numbers.ts';
import { formatMoment, MINUTE_MS, plural, zoneName } from '../../words/time.ts';
import { fillSteps, heatOf, PERIODS, type Period, summarize } from '../../words/usage.ts';
import { ConsumptionReport } from './consumption-report.tsx';
import { DenialReport } from './denial-report.tsx';
import { Figures, HeatReport, SlotsReport, WhatIfReport } from './slot-reports.tsx';
import { UserReport } from './user-report.tsx';

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

const SEGMENTS = (Object.keys(PERIODS) as Period[]).map((period) => [period, PERIODS[period].label] as const);

/** The end of the period, to the minute, so that reading it again asks the same. */
function usePeriod(period: Period) {
  const until = Math.ceil(readNow() / (5 * MINUTE_MS)) * 5 * MINUTE_MS;
  const since = until - PERIODS[period].ms;
  return {
    since,
    until,
    range: { since: new Date(since).toISOString(), until: new Date(until).toISOString() },
  };
}

function ReportsOf({ licenses }: { readonly licenses: readonly License[] }) {
  const { params } = usePlace();
  const asked = params.get('period') as Period | null;
  const period: Period = asked !== null && asked in PERIODS ? asked : '30d';
  const fullest = licenses.toSorted((one, other) => shareOf(other) - shareOf(one))[0] as License;
  const license = licenses.find(({ id }) => String(id) === params.get('license')) ?? fullest;
  const { since, until, range } = usePeriod(period);
  const query = { ...range, license: license.id };
  const history = useResource('/api/admin/history/slots', query, { everyMs: 5 * MINUTE_MS });
  const whatIf = useResource('/api/admin/history/what-if', query);
  const denials = useResource('/api/admin/history/denials', { ...query, limit: 200 });
  const now = readNow();
  const curve = whatIf.data;
  return (
    <>
      <PageHead title={headlineOf(license, curve, period)} lead={leadOf(license, curve, denials.data)} />
      <div class="filters">
        <LicenseChip licenses={licenses} value={String(license.id)} />
        <Segments
          label="Period"
          value={period}
          choices={SEGMENTS}
          onChange={(chosen) => setParams({ period: chosen })}
        />
        <span class="end">
          {formatMoment(since, now)} to {formatMoment(Math.min(until, now), now)}, times in {zoneName(now)}
        </span>
      </div>
      {history.isMissing && (
        <Empty title="This server records no history">
          <p>Reports need a server that records how slots are used.</p>
        </Empty>
      )}
      <Show of={history} what="The history" rows={10}>
        {(data) => (
          <SlotPart {...{ license, period, query }} history={data} whatIf={curve} denials={denials.data} />
        )}
      </Show>
      {denials.data !== null && (
        <DenialReport denials={denials.data} licenses={licenses} query={query} range={range} />
      )}
      <UserReport query={query} />
      <ConsumptionReport license={license} query={query} />
    </>
  );
}

function shareOf({ floating_in_use: used, floating_users: slots }: License): number {
  return slots === 0 ? -1 : used / slots;
}

interface SlotPartProps {
  readonly license: License;
  readonly history: SlotHistory;
  readonly whatIf: WhatIf | null;
  readonly denials: Denials | null;
  readonly query: Readonly<Record<string, string | number>>;
}

function SlotPart({ license, history, whatIf, denials, query }: SlotPartProps) {
  const series = history.series.find(
    ({ license_id, feature }) => license_id === license.id && feature === null,
  );
  const steps = fillSteps(history, series, readNow());
  const cells = heatOf(steps, history.step_ms);
  const slots = license.floating_users;
  return (
    <>
      <Figures figures={summarize(steps)} slots={slots} whatIf={whatIf} denials={denials} />
      <SlotsReport steps={steps} history={history} slots={slots} query={query} />
      <div class="columns equal">
        {cells !== null && <HeatReport cells={cells} slots={slots} tight={sayTight(cells, slots)} />}
        {whatIf !== null && <WhatIfReport whatIf={whatIf} query={query} />}
      </div>
    </>
  );
}

function headlineOf(license: License, whatIf: WhatIf | null, period: Period): string {
  const name = nameOf(license);
  if (whatIf === null) return `${name} in ${PERIODS[period].label}`;
  const enough = findEnough(whatIf);
  const { words } = PERIODS[period];
  if (enough === null) return `${name} needs many more slots for ${words} without denials`;
  if (enough > whatIf.slots)
    return `${name} needs ${formatNumber(enough)} slots for ${words} without denials`;
  if (enough < whatIf.slots) return `${name} has enough slots: ${formatNumber(enough)} would do for ${words}`;
  return `${name} has just enough slots for ${words}`;
}

function leadOf(license: License, whatIf: WhatIf | null, denials: Denials | null): string {
  const slots = formatNumber(license.floating_users);
  const now = whatIf?.curve.find((column) => column.slots === whatIf.slots);
  if (now === undefined) return `It has ${slots} slots.`;
  if (now.denials > 0) {
    const times = plural(now.denials, 'time');
    return `It has ${slots}, and ${times} somebody found all of them in use. Retries are not counted.`;
  }
  const others = denials?.total ?? 0;
  return others === 0
    ? `It has ${slots}, and nobody was denied.`
    : `It has ${slots}, and nobody was denied for want of a slot.`;
}
