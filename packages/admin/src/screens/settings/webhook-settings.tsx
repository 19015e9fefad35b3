import type { PostAnswer } from '@berth/protocol/admin/admin-api';
import { useState } from 'preact/hooks';
import { post } from '../../data/api.ts';
import { useStatus } from '../../data/overview.ts';
import { may } from '../../data/session.ts';
import { Button } from '../../parts/button.tsx';
import { Term, TermList } from '../../parts/facts.tsx';
import { useSend } from '../../parts/form.tsx';
import { Section } from '../../parts/head.tsx';
import { State } from '../../parts/shape.tsx';
import { Command, ErrorBox, Show } from '../../parts/states.tsx';
import { WEBHOOK_EXAMPLE, WEBHOOK_SECRET_COMMAND } from '../../words/settings.ts';
import { ShownOnce } from './create-parts.tsx';
import { DeliveryCounts, DeliveryState } from './delivery.tsx';
import { type Draft, LiveTerm, SaveBar, useDraft } from './draft.tsx';

/** Where events are sent, and whether they arrive. */
export function WebhookSettings() {
  const status = useStatus();
  const draft = useDraft(status.reload);
  return (
    <Show of={status} what="The state of the webhook">
      {({ webhooks }) => (
        <>
          <TermList>
            <DeliveryState delivery={webhooks} />
            <LiveTerm
              draft={draft}
              name="webhooks.url"
              label="Address"
              note="Each event is a signed POST with JSON. The path may be a secret, so it is not shown."
            >
              <Address draft={draft} />
            </LiveTerm>
            <LiveTerm draft={draft} name="webhooks.events" label="Events">
              <Topics draft={draft} />
            </LiveTerm>
            {may('POST /api/admin/webhooks/secret') && <Secret onMade={status.reload} />}
            <DeliveryCounts delivery={webhooks} />
          </TermList>
          {webhooks.state !== 'off' && may('POST /api/admin/webhooks/test') && (
            <TestButton onTested={status.reload} />
          )}
          {webhooks.state === 'off' && (
            <Section title="In berth.yaml instead" note="a file counts before what is set here">
              <p class="second">Make a secret, add this, and restart the server:</p>
              <Command text={WEBHOOK_SECRET_COMMAND} />
              <Command text={WEBHOOK_EXAMPLE} />
            </Section>
          )}
          <SaveBar draft={draft} />
        </>
      )}
    </Show>
  );
}

/** The address is only shown in part, so it is replaced as a whole. */
function Address({ draft }: { readonly draft: Draft }) {
  const shown = String(draft.of('webhooks.url')?.value ?? '');
  const typed = draft.changes['webhooks.url'];
  return (
    <span class="sentence wide">
      <input
        class="input"
        type="text"
        aria-label="Address"
        aria-invalid={draft.saving.error?.facts.field === 'webhooks.url'}
        placeholder={typed === '' ? 'none' : shown || 'https://receiver.example/berth'}
        value={typed ?? ''}
        spellcheck={false}
        autoComplete="off"
        onInput={({ currentTarget: { value } }) =>
          value === '' ? draft.forget('webhooks.url') : draft.set('webhooks.url', value)
        }
      />
      {shown !== '' && typed === undefined && (
        <Button as="link" onClick={() => draft.set('webhooks.url', '')}>
          Remove
        </Button>
      )}
    </span>
  );
}

/** Unchecking all sends nothing. */
function Topics({ draft }: { readonly draft: Draft }) {
  const choices = draft.of('webhooks.events')?.choices ?? [];
  const chosen = draft.value('webhooks.events').split(', ');
  const toggle = (topic: string) => {
    const next = choices.filter((one) => (one === topic) !== chosen.includes(one));
    draft.set('webhooks.events', next.join(', '));
  };
  return (
    <div class="check-list">
      {choices.map((topic) => (
        <label key={topic} class="check">
          <input type="checkbox" checked={chosen.includes(topic)} onChange={() => toggle(topic)} />
          <code>{topic}</code>
        </label>
      ))}
    </div>
  );
}

function Secret({ onMade }: { readonly onMade: () => void }) {
  const [secret, setSecret] = useState<string | null>(null);
  const { error, isBusy, submit } = useSend(async () => {
    setSecret((await post('/api/admin/webhooks/secret')).secret);
    onMade();
  });
  return (
    <Term
      name="Secret"
      note="Signs events. One in the environment or in webhooks.secretFile counts before it."
    >
      <Button onClick={submit} isBusy={isBusy}>
        Make a new secret
      </Button>
      {error !== null && <ErrorBox title="No secret was made." error={error} />}
      {secret !== null && (
        <ShownOnce
          title="The secret of the webhook"
          about="Give it to the receiver, which checks signatures with it. It is not shown again."
          secret={secret}
          onClose={() => setSecret(null)}
        />
      )}
    </Term>
  );
}

function TestButton({ onTested }: { readonly onTested: () => void }) {
  const [result, setResult] = useState<PostAnswer<'/api/admin/webhooks/test'> | null>(null);
  const { error, isBusy, submit } = useSend(async () => {
    setResult(null);
    setResult(await post('/api/admin/webhooks/test'));
    onTested();
  });
  return (
    <Section title="Test" note="sends an event of the kind webhook_test">
      <p class="done-line" role="status">
        <Button onClick={submit} isBusy={isBusy}>
          Send a test event
        </Button>
        {result?.delivered === true && (
          <State level="ok" word={`Delivered: ${result.status} after ${result.duration_ms} ms`} />
        )}
        {result?.delivered === false && <State level="warning" word={result.error ?? ''} />}
      </p>
      {error !== null && <ErrorBox title="The test event was not sent." error={error} />}
    </Section>
  );
}
