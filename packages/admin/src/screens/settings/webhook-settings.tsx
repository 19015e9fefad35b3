import { useStatus } from '../../data/overview.ts';
import { useResource } from '../../data/resource.ts';
import { State } from '../../parts/shape.tsx';
import { Command, Show } from '../../parts/states.tsx';
import { Time } from '../../parts/time.tsx';
import { formatNumber } from '../../words/numbers.ts';
import { Setting, SettingList } from './setting-list.tsx';

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
  const config = useResource('/api/admin/settings').data?.settings.webhooks;
  return (
    <Show of={status} what="The state of the webhook">
      {({ webhooks }) => (
        <>
          <SettingList>
            <Setting name="Delivery" note={webhooks.error}>
              <State level={STATES[webhooks.state][0]} word={STATES[webhooks.state][1]} />
            </Setting>
            <Setting name="Address">
              {config?.url ? <code>{config.url}</code> : <span class="quiet">none</span>}
            </Setting>
            <Setting name="Last delivered">
              <Time at={webhooks.delivered_at} none="never" />
            </Setting>
            <Setting name="Waiting">{formatNumber(webhooks.waiting)}</Setting>
            <Setting name="Since the start">
              {formatNumber(webhooks.delivered)} delivered, {formatNumber(webhooks.dropped)} dropped
            </Setting>
          </SettingList>
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
