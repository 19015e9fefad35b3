import type { SlotHistory } from '@berth/protocol/admin/history';
import type { License } from '@berth/protocol/admin/licenses';
import { Sparkline } from '../../charts/sparkline.tsx';
import { readNow } from '../../clock.ts';
import { goTo, linkTo } from '../../data/route.ts';
import { may } from '../../data/session.ts';
import { Name } from '../../parts/name.tsx';
import { State } from '../../parts/shape.tsx';
import { AmountBar, ReservedLine, SlotBar } from '../../parts/slot-bar.tsx';
import { Empty } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
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
      isTall
      columns={[
        'License',
        'State',
        ['Slots', 'slots-column'],
        'In use',
        history !== null && ['Last 24 hours', 'col-spark'],
        denied !== null && ['Denials today', 'number'],
        ['Ends', 'col-ends'],
      ]}
    >
      {sorted.map(({ license, verdict }) => (
        <LicenseRow key={license.id} {...{ license, verdict, history, denied, reserved }} />
      ))}
    </Table>
  );
}

interface LicenseRowProps extends Omit<LicenseTableProps, 'licenses'> {
  readonly license: License;
  readonly verdict: ReturnType<typeof worstOf>;
}

function LicenseRow({ license, verdict, history, denied, reserved }: LicenseRowProps) {
  return (
    <tr class="opens" onClick={(event) => open(event, license.id)}>
      <td class="grow name-column">
        <span class="two">
          <a class="plain-link" href={linkTo(`licenses/${license.id}`)}>
            <Name text={nameOf(license)} isStrong />
          </a>
          <Name text={license.product} />
        </span>
      </td>
      <td>
        <State level={verdict.level} word={verdict.word} />
      </td>
      <td class="wide">
        <Bars license={license} reserved={reserved.get(license.id) ?? []} />
      </td>
      <td>
        <InUse license={license} />
      </td>
      {history !== null && (
        <td class="col-spark">
          <Spark license={license} history={history} />
        </td>
      )}
      {denied !== null && (
        <td class="number">
          <DenialCount license={license.id} count={denied.get(license.id) ?? 0} />
        </td>
      )}
      <td class="col-ends nowrap">
        <Time at={license.ends_at} as="day" none="Never" />
      </td>
    </tr>
  );
}

function compareNames(one: License, other: License): number {
  return nameOf(one).localeCompare(nameOf(other)) || one.id - other.id;
}

/** A click anywhere in the row, except on a link, which does it anyway. */
function open(event: MouseEvent, id: number): void {
  if (event.target instanceof Element && event.target.closest('a, button') !== null) return;
  goTo(linkTo(`licenses/${id}`));
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

function InUse({ license }: { readonly license: License }) {
  const counted = countedOf(license);
  const lent = license.borrowed === 0 ? 'none borrowed' : `${formatNumber(license.borrowed)} borrowed`;
  const period = counted?.period == null ? '' : ` ${PERIOD_WORDS[counted.period]}`;
  return (
    <span class="two">
      <span>
        <b>{formatNumber(license.floating_in_use)}</b> of {formatNumber(license.floating_users)}
      </span>
      <span>
        {counted === null ? lent : `${formatAmount(counted.total)} of ${formatAmount(counted.max)}${period}`}
      </span>
    </span>
  );
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
