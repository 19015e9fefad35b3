import type { Status } from '@berth/protocol/admin/status';
import { Term } from '../../parts/facts.tsx';
import { State } from '../../parts/shape.tsx';
import { Time } from '../../parts/time.tsx';
import { formatNumber } from '../../words/numbers.ts';

const STATES = {
  off: ['off', 'Off'],
  no_secret: ['warning', 'Secret missing'],
  untried: ['off', 'Nothing sent yet'],
  ok: ['ok', 'OK'],
  failing: ['warning', 'Failing'],
} as const;

type Delivery = Status['webhooks'];

export function DeliveryState({ delivery: { state, error } }: { readonly delivery: Delivery }) {
  const [level, word] = STATES[state];
  return (
    <Term name="Delivery" note={error}>
      <State level={level} word={word} />
    </Term>
  );
}

/** What arrived and what waits; nothing while it is off. */
export function DeliveryCounts({ delivery }: { readonly delivery: Delivery }) {
  if (delivery.state === 'off') return null;
  return (
    <>
      <Term name="Last delivered">
        <Time at={delivery.delivered_at} none="never" />
      </Term>
      <Term name="Waiting">{formatNumber(delivery.waiting)}</Term>
      <Term name="Since the start">
        {formatNumber(delivery.delivered)} delivered, {formatNumber(delivery.dropped)} dropped
      </Term>
    </>
  );
}
