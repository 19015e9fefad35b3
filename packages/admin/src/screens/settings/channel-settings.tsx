import type { GetAnswer, PostAnswer } from '@berth/protocol/admin/admin-api';
import type { Channel } from '@berth/protocol/admin/channels';
import { useState } from 'preact/hooks';
import { post } from '../../data/api.ts';
import { useResource } from '../../data/resource.ts';
import { may } from '../../data/session.ts';
import { Button } from '../../parts/button.tsx';
import { ask } from '../../parts/dialog.tsx';
import { useSend } from '../../parts/form.tsx';
import { Section } from '../../parts/head.tsx';
import { ActionsMenu } from '../../parts/menu.tsx';
import { Name } from '../../parts/name.tsx';
import { State } from '../../parts/shape.tsx';
import { Empty, Show } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { showToast } from '../../parts/toasts.tsx';
import { sayKind, sayPlan } from '../../words/channels.ts';
import { ChannelDialog } from './channel-dialog.tsx';
import { CreateButton } from './create-parts.tsx';
import { WebhookSettings } from './webhook-settings.tsx';

/** Another server may send the messages, and its results cause no events. */
const EVERY_MS = 15_000;

/** Who is told when something needs attention: by mail and chat, and programs by the signed webhook. */
export function NotificationSettings() {
  const channels = useResource('/api/admin/channels', {}, { isLive: true, everyMs: EVERY_MS });
  /** `null`: a new one. */
  const [edited, setEdited] = useState<Channel | null | undefined>(undefined);
  return (
    <>
      <CreateButton label="Add a channel" needs="POST /api/admin/channels" onClick={() => setEdited(null)} />
      <Show of={channels} what="The channels">
        {(data) => (
          <>
            <ChannelTable data={data} onEdit={setEdited} onChange={channels.reload} />
            {edited !== undefined && (
              <ChannelDialog
                channel={edited}
                topics={data.topics}
                onClose={() => {
                  setEdited(undefined);
                  channels.reload();
                }}
              />
            )}
          </>
        )}
      </Show>
      <Section title="Signed webhook" note="every event for a program, one at a time">
        <WebhookSettings />
      </Section>
    </>
  );
}

interface ChannelTableProps {
  readonly data: GetAnswer<'/api/admin/channels'>;
  readonly onEdit: (channel: Channel) => void;
  readonly onChange: () => void;
}

function ChannelTable({ data, onEdit, onChange }: ChannelTableProps) {
  if (data.channels.length === 0) {
    return (
      <Empty title="No one gets messages">
        <p>Add a channel to be told by mail or chat when something needs you.</p>
      </Empty>
    );
  }
  return (
    <Table
      rows={data.channels}
      keyOf={({ name }) => name}
      isTall
      columns={[
        ['Channel', drawName],
        ['To', drawReceiver, 'sentence-cell'],
        ['Told about', (channel) => sayPlan(channel, data.topics.length), 'sentence-cell'],
        ['Last result', drawResult, 'sentence-cell'],
      ]}
      actions={(channel) =>
        may('POST /api/admin/channels') && <ChannelActions {...{ channel, onEdit, onChange }} />
      }
    />
  );
}

function drawName({ name, kind }: Channel) {
  return (
    <>
      <Name text={name} isStrong />
      <br />
      <span class="quiet">{sayKind(kind)}</span>
    </>
  );
}

function drawReceiver({ to, server }: Channel) {
  return (
    <>
      <bdi>{to}</bdi>
      {server !== null && (
        <>
          <br />
          <span class="quiet">through {server}</span>
        </>
      )}
    </>
  );
}

function drawResult({ state, error, failing_at, delivered_at }: Channel) {
  if (state === 'paused') return <State level="off" word="Paused" />;
  if (state === 'untried') return <State level="off" word="Nothing sent yet" />;
  const isFailing = state === 'failing';
  return (
    <>
      <State level={error === null ? 'ok' : 'warning'} word={isFailing ? 'Failing' : 'Delivered'} />
      <br />
      <span class="quiet">
        {isFailing && 'since '}
        <Time at={isFailing ? failing_at : delivered_at} />
        {error !== null && `: ${error}`}
      </span>
    </>
  );
}

interface ActionProps extends Omit<ChannelTableProps, 'data'> {
  readonly channel: Channel;
}

function ChannelActions({ channel, onEdit, onChange }: ActionProps) {
  const { name, paused } = channel;
  const { isBusy, submit } = useSend(async () => {
    showResult(name, await post('/api/admin/channels/test', { name }));
    onChange();
  });
  const setPaused = async (isPaused: boolean) => {
    await post('/api/admin/channels', { name, paused: isPaused });
    onChange();
  };
  const remove = () =>
    ask({
      title: 'Remove this channel?',
      text: 'Its address and password are forgotten, and what it was not told yet, too.',
      facts: [
        ['Channel', name],
        ['To', channel.to],
      ],
      verb: 'Remove channel',
      act: async () => {
        await post('/api/admin/channels/remove', { name });
        onChange();
        showToast(`${name} was removed.`);
      },
    });
  return (
    <span class="row-actions">
      <Button onClick={submit} isBusy={isBusy}>
        Test
      </Button>
      <ActionsMenu
        of={name}
        items={[
          { label: 'Change…', act: () => onEdit(channel) },
          { label: paused ? 'Resume' : 'Pause', act: () => void setPaused(!paused) },
          null,
          { label: 'Remove…', icon: 'trash', act: remove },
        ]}
      />
    </span>
  );
}

/** The row shows a failure for as long as it lasts. */
function showResult(
  name: string,
  { status, duration_ms, error }: PostAnswer<'/api/admin/channels/test'>,
): void {
  showToast(error === null ? `${name}: delivered, ${status} after ${duration_ms} ms.` : `${name}: ${error}`);
}
