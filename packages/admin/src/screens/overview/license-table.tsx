import type { SlotHistory } from '@berth/protocol/admin/history';
import type { License } from '@berth/protocol/admin/licenses';
import { Sparkline } from '../../charts/sparkline.tsx';
import { readNow } from '../../clock.ts';
import { goTo, linkTo } from '../../data/route.ts';
import { may } from '../../data/session.ts';
import { LicenseName, Name } from '../../parts/name.tsx';
import { State } from '../../parts/shape.tsx';
import { AmountBar, ReservedLine, SlotBar } from '../../parts/slot-bar.tsx';
import { Empty } from '../../parts/states.tsx';
import { Table, TwoLines } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { forecast, PERIOD_WORDS } from '../../words/forecast.ts';
import { countedOf, nameOf, rank, worstOf } from '../../words/judge-license.ts';
import { formatAmount, formatNumber } from '../../words/numbers.ts';
import type { Reserved, ReservedByLicense } from '../../words/rules.ts';

interface LicenseTableProps {
  readonly licenses: readonly License[];
  readonly history: SlotHistory | null;
  /** Denials today by license; `null`: not recorded. */
  readonly denied: ReadonlyMap<number, number> | null;
  /** What is reserved of each license. */
  readonly reserved: ReservedByLicense;
}

/** Every license as a bar of slots, those that need attention first. */
export function LicenseTable({ licenses, history, denied, reserved }: LicenseTableProps) {
  const now = readNow();
  const sorted = licenses
    .map((license) => ({ license, verdict: worstOf(license, now) }))
    .sort(
      (one, other) => rank(one.verdict) - rank(other.verdict) || compareNames(one.license, other.license),
    );
  return (
    <Table
      rows={sorted}
      keyOf={({ license }) => license.id}
      rowClass="opens"
      onOpen={({ license }) => goTo(linkTo(`licenses/${license.id}`))}
      isTall
      columns={[
        ['License', drawName, 'grow name-column'],
        ['State', ({ verdict: { level, word } }) => <State level={level} word={word} />],
        [
          'Slots',
          ({ license }) => <Bars license={license} reserved={reserved.get(license.id) ?? []} />,
          'wide slots-column',
        ],
        ['In use', drawUse],
        history !== null && [
          'Last 24 hours',
          ({ license }) => <Spark {...{ license, history }} />,
          'col-spark',
        ],
        denied !== null && [
          'Denials today',
          ({ license: { id } }) => <DenialCount license={id} count={denied.get(id) ?? 0} />,
          'number',
        ],
        ['Ends', ({ license }) => <Time at={license.ends_at} as="day" none="Never" />, 'col-ends nowrap'],
      ]}
    />
  );
}

function drawName({ license }: { readonly license: License }) {
  return (
    <span class="two">
      <LicenseName id={license.id} name={nameOf(license)} isStrong isPlain />
      <Name text={license.product} />
    </span>
  );
}

function compareNames(one: License, other: License): number {
  return nameOf(one).localeCompare(nameOf(other)) || one.id - other.id;
}

interface BarsProps {
  readonly license: License;
  readonly reserved: readonly Reserved[];
}

function Bars({ license, reserved }: BarsProps) {
  const counted = countedOf(license);
  return (
    <span class="bar-stack">
      {license.floating_users > 0 && (
        <SlotBar
          slots={license.floating_users}
          inUse={license.floating_in_use}
          borrowed={license.borrowed}
          reserved={reserved}
        />
      )}
      <ReservedLine reserved={reserved} />
      {counted !== null && <AmountBar {...counted} expected={forecast(counted, readNow()).expected} />}
    </span>
  );
}

function drawUse({ license }: { readonly license: License }) {
  const counted = countedOf(license);
  const lent = license.borrowed === 0 ? 'none borrowed' : `${formatNumber(license.borrowed)} borrowed`;
  const period = counted?.period == null ? '' : ` ${PERIOD_WORDS[counted.period]}`;
  const used = (
    <span>
      <b>{formatNumber(license.floating_in_use)}</b> of {formatNumber(license.floating_users)}
    </span>
  );
  const consumed = counted && `${formatAmount(counted.total)} of ${formatAmount(counted.max)}${period}`;
  return <TwoLines first={used} second={consumed ?? lent} />;
}

function Spark({ license, history }: { readonly license: License; readonly history: SlotHistory }) {
  const series = history.series.find(
    ({ license_id, feature }) => license_id === license.id && feature === null,
  );
  return (
    <Sparkline
      points={series?.points ?? []}
      slots={license.floating_users}
      since={Date.parse(history.since)}
      until={readNow()}
      now={license.floating_in_use}
    />
  );
}

function DenialCount({ license, count }: { readonly license: number; readonly count: number }) {
  if (count === 0) return <span class="quiet">0</span>;
  return (
    <a href={linkTo('reports', { license, period: 'today' })}>
      <b class="critical">
        {formatNumber(count)}
        <span class="hidden-text"> denials</span>
      </b>
    </a>
  );
}

export function NoLicense() {
  return (
    <Empty title="There is no license yet">
      <p>
        {may('POST /api/v4/addProduct')
          ? 'Add one by its key, by file or by codes. Applications can take slots at once.'
          : 'As soon as an administrator adds one, applications can take slots.'}
      </p>
    </Empty>
  );
}
