import type { Status } from '@berth/protocol/admin/status';
import { useState } from 'preact/hooks';
import { type ApiError, post } from '../../data/api.ts';
import { useStatus } from '../../data/overview.ts';
import { isAdmin } from '../../data/session.ts';
import { Section } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { State } from '../../parts/shape.tsx';
import { ErrorBox, Show } from '../../parts/states.tsx';
import { Time } from '../../parts/time.tsx';
import { showToast } from '../../parts/toasts.tsx';
import type { Level } from '../../words/judge-license.ts';
import { formatAmount } from '../../words/numbers.ts';
import { CloudKeysForm } from '../add/online.tsx';
import { Setting, SettingList } from './setting-list.tsx';

const STATES: Readonly<Record<Status['cloud']['state'], readonly [Level, string]>> = {
  not_configured: ['off', 'Not configured'],
  no_keys: ['warning', 'Keys are missing'],
  untried: ['off', 'Not tried yet'],
  ok: ['ok', 'OK'],
  refused: ['critical', 'Refuses the keys'],
  failing: ['critical', 'Unreachable'],
};

/** The link to the vendor, and its keys as fingerprints. */
export function CloudSettings() {
  const status = useStatus();
  return (
    <Show of={status} what="The state of the cloud">
      {(data) => <CloudOf status={data} onChange={status.reload} />}
    </Show>
  );
}

function CloudOf({ status, onChange }: { readonly status: Status; readonly onChange: () => void }) {
  const { cloud, cloud_keys: keys } = status;
  const [level, word] = STATES[cloud.state];
  return (
    <>
      <SettingList>
        <Setting name="Licensing cloud" note={cloud.error?.message}>
          <State level={level} word={word} />
        </Setting>
        <Setting name="Address">
          {cloud.url ? <code>{cloud.url}</code> : 'none: set cloud.url in berth.yaml'}
        </Setting>
        <Setting name="Reached">
          <Time at={cloud.reached_at} none="never" />
        </Setting>
        <Setting name="To be reported">{formatAmount(cloud.pending)}</Setting>
        <Setting
          name="Uncertain reports"
          note={cloud.reports_uncertain > 0 ? 'settle them with “berth report settle”' : ''}
        >
          {formatAmount(cloud.reports_uncertain)}
        </Setting>
        <Setting name="API key">
          <Fingerprint value={keys.api_key_fingerprint} />
        </Setting>
        <Setting name="Shared key">
          <Fingerprint value={keys.shared_key_fingerprint} />
        </Setting>
      </SettingList>
      {isAdmin() && cloud.state !== 'not_configured' && <SyncAll />}
      {isAdmin() && (
        <Section title="Set new keys">
          <CloudKeysForm
            onSet={() => {
              showToast('The keys were set.');
              onChange();
            }}
          />
        </Section>
      )}
    </>
  );
}

function Fingerprint({ value }: { readonly value: string | null }) {
  return value === null ? <span class="quiet">not set</span> : <code>{value}</code>;
}

function SyncAll() {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const sync = async () => {
    if (isBusy) return;
    setBusy(true);
    setError(null);
    await post('/api/admin/licenses/sync')
      .then(() => showToast('All licenses were checked.'))
      .catch(setError);
    setBusy(false);
  };
  return (
    <p class="gap">
      <button type="button" class="button" aria-disabled={isBusy} onClick={sync}>
        <Icon name="sync" />
        {isBusy ? 'Checking…' : 'Check all licenses now'}
      </button>
      {error !== null && <ErrorBox title="The licenses were not checked." error={error} />}
    </p>
  );
}
