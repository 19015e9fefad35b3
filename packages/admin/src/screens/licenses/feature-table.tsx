import type { FeatureObject as Feature } from '@berth/protocol/api/license-object';
import { readNow } from '../../clock.ts';
import { useRules } from '../../data/rules.ts';
import { Name } from '../../parts/name.tsx';
import { State } from '../../parts/shape.tsx';
import { AmountBar, ReservedLine, SlotBar } from '../../parts/slot-bar.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { forecast } from '../../words/forecast.ts';
import { countedOf, type Level } from '../../words/judge-license.ts';
import { formatAmount, formatNumber } from '../../words/numbers.ts';
import { listReserved, type Reserved } from '../../words/rules.ts';

const NEARLY = 0.9;

interface FeatureTableProps {
  readonly features: readonly Feature[];
  readonly product: string;
}

export function FeatureTable({ features, product }: FeatureTableProps) {
  const rules = useRules().data?.rules ?? [];
  return (
    <Table
      rows={features}
      keyOf={({ code }) => code}
      isTall
      columns={[
        ['Feature', ({ name, code }) => <Name text={name || code} isStrong />, 'grow cut'],
        ['Code', drawCode, 'cut'],
        [
          'Limit',
          (feature) => <Limit feature={feature} reserved={listReserved(rules, product, feature.code)} />,
          'wide slots-column',
        ],
        ['Used', drawUse, 'nowrap'],
        ['State', (feature) => <State {...judgeFeature(feature)} />],
        ['Ends', (one) => <Time at={one.expiry_date} as="day" none="With the license" />, 'nowrap'],
      ]}
    />
  );
}

function drawCode({ code }: Feature) {
  return (
    <code>
      <Name text={code} />
    </code>
  );
}

function slotsOf({ floating_users = 0, floating_in_use_devices = 0 }: Feature) {
  return { slots: floating_users, used: floating_in_use_devices };
}

interface LimitProps {
  readonly feature: Feature;
  readonly reserved: readonly Reserved[];
}

function Limit({ feature, reserved }: LimitProps) {
  const counted = countedOf(feature);
  if (feature.is_floating) {
    const { slots, used } = slotsOf(feature);
    return (
      <>
        <SlotBar slots={slots} inUse={used} borrowed={0} reserved={reserved} />
        <ReservedLine reserved={reserved} />
      </>
    );
  }
  if (counted !== null) return <AmountBar {...counted} expected={forecast(counted, readNow()).expected} />;
  return <span class="quiet">no limit of its own</span>;
}

function drawUse(feature: Feature) {
  const counted = countedOf(feature);
  if (feature.is_floating) {
    const { slots, used } = slotsOf(feature);
    return (
      <>
        <b>{formatNumber(used)}</b> of {formatNumber(slots)}
      </>
    );
  }
  if (counted === null) return null;
  return (
    <>
      <b>{formatAmount(counted.total)}</b> of {formatAmount(counted.max)}
    </>
  );
}

function judgeFeature(feature: Feature): { readonly level: Level; readonly word: string } {
  if (feature.expiry_date !== null && Date.parse(feature.expiry_date) <= readNow()) {
    return { level: 'off', word: 'Ended' };
  }
  const counted = countedOf(feature);
  const { slots, used } = slotsOf(feature);
  const [total, max] = feature.is_floating ? [used, slots] : [counted?.total ?? 0, counted?.max ?? 0];
  if (max > 0 && total >= max) return { level: 'critical', word: feature.is_floating ? 'Full' : 'Used up' };
  if (max > 0 && total >= max * NEARLY) {
    return { level: 'warning', word: feature.is_floating ? 'Nearly full' : 'Nearly used up' };
  }
  return { level: 'ok', word: 'OK' };
}
