import type { Status } from '@berth/protocol/admin/status';
import { post } from '../../data/api.ts';
import { useStatus } from '../../data/overview.ts';
import { may } from '../../data/session.ts';
import { Button } from '../../parts/button.tsx';
import { Term, TermList } from '../../parts/facts.tsx';
import { useSend } from '../../parts/form.tsx';
import { Section } from '../../parts/head.tsx';
import { State } from '../../parts/shape.tsx';
import { ErrorBox, Show } from '../../parts/states.tsx';
import { Time } from '../../parts/time.tsx';
import { showToast } from '../../parts/toasts.tsx';
import type { Level } from '../../words/judge-license.ts';
import { formatAmount } from '../../words/numbers.ts';
import { CloudKeysForm } from '../add/online.tsx';

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
      <TermList>
        <Term name="Licensing cloud" note={cloud.error?.message}>
          <State level={level} word={word} />
        </Term>
        <Term name="Address">
          {cloud.url ? <code>{cloud.url}</code> : 'none: set cloud.url in berth.yaml'}
        </Term>
        <Term name="Reached">
          <Time at={cloud.reached_at} none="never" />
        </Term>
        <Term name="To be reported">{formatAmount(cloud.pending)}</Term>
        <Term
          name="Uncertain reports"
          note={cloud.reports_uncertain > 0 ? 'settle them with “berth report settle”' : ''}
        >
          {formatAmount(cloud.reports_uncertain)}
        </Term>
        <Term name="API key">
          <Fingerprint value={keys.api_key_fingerprint} />
        </Term>
        <Term name="Shared key">
          <Fingerprint value={keys.shared_key_fingerprint} />
        </Term>
      </TermList>
      {may('POST /api/admin/licenses/sync') && cloud.state !== 'not_configured' && <SyncAll />}
      {may('POST /api/v4/setKeys') && (
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
  const { error, isBusy, submit } = useSend(async () => {
    await post('/api/admin/licenses/sync');
    showToast('All licenses were checked.');
  });
  return (
    <p class="gap">
      <Button icon="sync" isBusy={isBusy} onClick={submit}>
        {isBusy ? 'Checking…' : 'Check all licenses now'}
      </Button>
      {error !== null && <ErrorBox title="The licenses were not checked." error={error} />}
    </p>
  );
}
