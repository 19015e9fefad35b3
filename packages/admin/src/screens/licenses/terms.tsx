import type { License } from '@berth/protocol/admin/licenses';
import { readNow } from '../../clock.ts';
import { useResource } from '../../data/resource.ts';
import { linkTo } from '../../data/route.ts';
import { Term } from '../../parts/facts.tsx';
import { Time } from '../../parts/time.tsx';
import { countedOf } from '../../words/judge-license.ts';
import { formatAmount, formatNumber } from '../../words/numbers.ts';
import { DAY_MS, formatSpan, HOUR_MS, plural } from '../../words/time.ts';

const SOURCES = {
  cloud: 'from the vendor’s cloud',
  offline: 'from a license file',
  airgap: 'by codes',
  demo: 'the demo license',
} as const;

const STATES: Readonly<Record<string, string>> = {
  active: 'Active',
  in_grace: 'In its grace period',
  expired: 'Ended',
  disabled: 'Disabled by the vendor',
  inactive: 'Not active',
  not_started: 'Not started yet',
  elsewhere: 'Belongs to another machine',
  overdue: 'Not checked for too long',
};

/** What the vendor granted. */
export function Terms({ license }: { readonly license: License }) {
  const counted = countedOf(license);
  return (
    <>
      <h2>Terms</h2>
      <dl class="terms">
        <Term name="State">
          {STATES[license.state] ?? license.state}, {SOURCES[license.source]}
        </Term>
        <Term name="License key">
          <code>{hideMiddle(license.license_key)}</code>
        </Term>
        <Term name="Valid" note={remaining(license)}>
          {license.start_date !== null && (
            <>
              <Time at={license.start_date} as="day" /> to{' '}
            </>
          )}
          <Time at={license.validity_period} as="day" none="without an end" />
        </Term>
        <Term name="Slots" note={`free after ${license.floating_timeout} min without a heartbeat`}>
          {formatNumber(license.floating_users)}
        </Term>
        <Term name="Borrowing">
          {license.can_borrow ? `up to ${formatSpan(license.max_borrow_time * HOUR_MS)}` : 'not allowed'}
        </Term>
        {counted !== null && (
          <Term
            name="Consumption"
            note={
              license.allow_overages ? `and ${formatAmount(license.max_overages)} beyond` : 'and none beyond'
            }
          >
            {formatAmount(counted.max)} {license.consumption_period ?? 'in all'}
          </Term>
        )}
        {license.source === 'cloud' && <CloudTerms license={license} />}
        <Term name="Added">
          <Time at={license.added_at} />
        </Term>
        {license.maintenance_period !== null && (
          <Term name="Updates until">
            <Time at={license.maintenance_period} as="day" />
          </Term>
        )}
      </dl>
      <p class="gap">
        <a href={linkTo('reports', { license: license.id })}>What if it had more slots?</a>
      </p>
    </>
  );
}

function CloudTerms({ license }: { readonly license: License }) {
  const meters = useResource('/api/admin/reports', {}, { isLive: true }).data?.meters ?? [];
  const meter = meters.find(({ license_id, feature }) => license_id === license.id && feature === null);
  return (
    <>
      {meter !== undefined && (
        <Term
          name="Told to vendor"
          note={meter.pending === 0 ? 'nothing waits' : `${formatAmount(meter.pending)} wait`}
        >
          {formatAmount(meter.reported)}
        </Term>
      )}
      <Term
        name="Last check"
        note={license.cloud_answers_bound === false ? 'its answers are not bound to requests' : undefined}
      >
        <Time at={license.checked_at} none="never" />
      </Term>
    </>
  );
}

/** The first and the last group: enough to recognize it. */
function hideMiddle(key: string): string {
  return key.length <= 8 ? '…' : `${key.slice(0, 4)}…${key.slice(-4)}`;
}

function remaining({ ends_at, allow_grace_period, grace_period }: License): string {
  if (ends_at === null) return '';
  const days = Math.ceil((Date.parse(ends_at) - readNow()) / DAY_MS);
  const grace =
    allow_grace_period && grace_period > 0 ? `, ${formatSpan(grace_period * HOUR_MS)} of grace` : '';
  return days < 0 ? 'over' : `${plural(days, 'day')} left${grace}`;
}
