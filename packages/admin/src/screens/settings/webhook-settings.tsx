import { useStatus } from '../../data/overview.ts';
import { useSettings } from '../../data/settings.ts';
import { Term, TermList } from '../../parts/facts.tsx';
import { State } from '../../parts/shape.tsx';
import { Command, Show } from '../../parts/states.tsx';
import { Time } from '../../parts/time.tsx';
import { formatNumber } from '../../words/numbers.ts';

const STATES = {
  off: ['off', 'Off'],
  untried: ['off', 'Nothing sent yet'],
  ok: ['ok', 'OK'],
  failing: ['warning', 'Failing'],
} as const;

const EXAMPLE = `webhooks:
  url: https://chat.example/hooks/berth`;

/** Where events are sent, and whether they arrive. */
export function WebhookSettings() {
  const status = useStatus();
  const url = useSettings().of('webhooks.url')?.value;
  return (
    <Show of={status} what="The state of the webhook">
      {({ webhooks }) => (
        <>
          <TermList>
            <Term name="Delivery" note={webhooks.error}>
              <State level={STATES[webhooks.state][0]} word={STATES[webhooks.state][1]} />
            </Term>
            <Term name="Address">{url ? <code>{url}</code> : <span class="quiet">none</span>}</Term>
            <Term name="Last delivered">
              <Time at={webhooks.delivered_at} none="never" />
            </Term>
            <Term name="Waiting">{formatNumber(webhooks.waiting)}</Term>
            <Term name="Since the start">
              {formatNumber(webhooks.delivered)} delivered, {formatNumber(webhooks.dropped)} dropped
            </Term>
          </TermList>
          {webhooks.state === 'off' && (
            <div class="form gap">
              <p class="second">
                Berth can tell another program what happens. Put this into berth.yaml and restart:
              </p>
              <Command text={EXAMPLE} />
            </div>
          )}
        </>
      )}
    </Show>
  );
}
