import type { GetAnswer, PostBody } from '@berth/protocol/admin/admin-api';
import type { Channel } from '@berth/protocol/admin/channels';
import { post } from '../../data/api.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Choose, Field } from '../../parts/field.tsx';
import { Form, useFields } from '../../parts/form.tsx';
import { showToast } from '../../parts/toasts.tsx';
import { DIGESTS, KINDS, sayTopic, splitQuiet } from '../../words/channels.ts';

type Topics = GetAnswer<'/api/admin/channels'>['topics'];

interface ChannelDialogProps {
  /** `null`: a new one. */
  readonly channel: Channel | null;
  readonly topics: Topics;
  readonly onClose: () => void;
}

const STAYS = 'Empty: it stays as it is.';
const EXAMPLE = '{"text":"{{title}}\\n{{text}}"}';
const TEMPLATE = 'JSON. Its texts can name {{title}}, {{text}}, {{severity}}, {{id}} and {{server}}.';

/** What is typed. Secrets are empty until they are replaced. */
function firstDraft(channel: Channel | null, topics: Topics) {
  const [from, to] = splitQuiet(channel?.quiet ?? null);
  return {
    name: channel?.name ?? '',
    kind: channel?.kind ?? 'mail',
    to: channel?.kind === 'mail' ? channel.to : '',
    from: channel?.from ?? '',
    server: channel?.server ?? '',
    security: channel?.security ?? 'starttls',
    user: channel?.user ?? '',
    password: '',
    url: '',
    template: channel === null ? EXAMPLE : '',
    authorization: '',
    topics: channel?.topics ?? topics.map(({ name }) => name),
    gap: String(channel?.gap_minutes ?? 10),
    quietFrom: from,
    quietTo: to,
    weekends: channel?.quiet_weekends ?? false,
    zone: channel?.time_zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    digest: channel?.digest ?? 'off',
  };
}

type Draft = ReturnType<typeof firstDraft>;

interface PartProps extends ReturnType<typeof useFields<Draft>> {
  readonly isNew: boolean;
}

/** One form for adding and changing. */
export function ChannelDialog({ channel, topics, onClose }: ChannelDialogProps) {
  const form = useFields(firstDraft(channel, topics));
  const { fields: draft, typed, chosen } = form;
  const isNew = channel === null;
  const send = async () => {
    await post('/api/admin/channels', toBody(draft, channel));
    showToast(
      isNew ? `${draft.name} was added. Test whether messages arrive.` : `${draft.name} was changed.`,
    );
    onClose();
  };
  const part = { ...form, isNew };
  return (
    <Dialog title={isNew ? 'Add a channel' : `Change ${channel.name}`} onClose={onClose} isWide>
      <Form
        verb={isNew ? 'Add channel' : 'Change channel'}
        failure={isNew ? 'The channel was not added.' : 'The channel was not changed.'}
        onSend={send}
        onCancel={onClose}
      >
        {isNew && (
          <>
            <Field label="Name" {...typed('name')} isFirst placeholder="ops" />
            <Choose label="Kind" {...chosen('kind')} choices={KINDS} />
          </>
        )}
        {draft.kind === 'mail' ? <MailFields {...part} /> : <PostFields {...part} />}
        <TopicFields {...part} topics={topics} />
        <TimeFields {...part} />
      </Form>
    </Dialog>
  );
}

/** Empty fields are left out, so what they stand for stays as it is. */
function toBody(draft: Draft, before: Channel | null): PostBody<'/api/admin/channels'> {
  const { name, kind, topics, gap, quietFrom, quietTo, weekends, digest } = draft;
  const { security, template, authorization } = draft;
  const mail = {
    to: draft.to.split(',').flatMap((address) => (address.trim() === '' ? [] : [address.trim()])),
    from: draft.from,
    server: draft.server,
    security,
    user: draft.user === '' && before?.user != null ? 'none' : draft.user,
    password: draft.password,
  };
  const chat = { url: draft.url, ...(kind === 'webhook' ? { template, authorization } : {}) };
  return withoutEmpty({
    name,
    kind,
    ...(kind === 'mail' ? mail : chat),
    topics: [...topics],
    gap_minutes: gap,
    quiet: quietFrom === '' && quietTo === '' ? 'off' : `${quietFrom}-${quietTo}`,
    quiet_weekends: weekends,
    digest,
    time_zone: draft.zone,
  });
}

function withoutEmpty<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== '')) as T;
}

const SECURITIES = [
  ['starttls', 'STARTTLS (port 587)'],
  ['tls', 'TLS from the start (port 465)'],
  ['none', 'not encrypted (port 25)'],
] as const;

function MailFields({ fields: draft, typed, chosen, isNew }: PartProps) {
  return (
    <>
      <Field label="To" {...typed('to')} placeholder="ops@example.com, licenses@example.com" />
      <Field label="From" {...typed('from')} placeholder="berth@example.com" />
      <Field label="Mail server" {...typed('server')} placeholder="smtp.example.com:587" />
      <Choose label="Encryption" {...chosen('security')} choices={SECURITIES} />
      <Field label="User" {...typed('user')} hint="Empty: without signing in." />
      {draft.user !== '' && (
        <Field
          label="Password"
          type="password"
          {...typed('password')}
          autoComplete="new-password"
          hint={isNew ? undefined : `${STAYS} Another mail server needs it again.`}
        />
      )}
    </>
  );
}

const ADDRESSES = {
  slack: 'Of an incoming webhook. Whoever knows it can post there, so it is not shown again.',
  teams: 'Of a workflow “When a Teams webhook request is received”. It is not shown again.',
  webhook: 'Gets a POST with JSON. It is not shown again.',
};

function PostFields({ fields: { kind }, typed, isNew }: PartProps) {
  if (kind === 'mail') return null;
  return (
    <>
      <Field
        label="Address"
        type="password"
        {...typed('url')}
        autoComplete="off"
        hint={isNew ? ADDRESSES[kind] : STAYS}
      />
      {kind === 'webhook' && (
        <>
          <Field
            label="Template"
            {...typed('template')}
            isMono
            lines={4}
            hint={`${TEMPLATE} ${isNew ? 'It is not shown again.' : `${STAYS} Another host needs it again.`}`}
          />
          <Field
            label="Header Authorization"
            type="password"
            {...typed('authorization')}
            autoComplete="off"
            hint={isNew ? 'Empty: none is sent.' : `${STAYS} “none”: none is sent.`}
          />
        </>
      )}
    </>
  );
}

function TopicFields({ fields: draft, set, topics }: PartProps & { readonly topics: Topics }) {
  const toggle = (topic: string) => {
    const next = topics.flatMap(({ name }) =>
      (name === topic) !== draft.topics.includes(name) ? [name] : [],
    );
    set('topics', next);
  };
  const list = (isCritical: boolean) => (
    <div class="check-list">
      {topics
        .filter(({ critical }) => critical === isCritical)
        .map(({ name }) => (
          <label key={name} class="check">
            <input type="checkbox" checked={draft.topics.includes(name)} onChange={() => toggle(name)} />
            {sayTopic(name)}
          </label>
        ))}
    </div>
  );
  return (
    <>
      <fieldset class="field">
        <legend class="label">Critical, also in quiet hours</legend>
        {list(true)}
      </fieldset>
      <fieldset class="field">
        <legend class="label">Not in quiet hours</legend>
        {list(false)}
      </fieldset>
    </>
  );
}

function TimeFields({ fields: draft, set, typed, chosen }: PartProps) {
  return (
    <>
      <fieldset class="field">
        <legend class="label">Quiet hours</legend>
        <span class="sentence">
          From
          <ShortInput label="Quiet from" {...typed('quietFrom')} />
          to
          <ShortInput label="Quiet to" {...typed('quietTo')} />
        </span>
        <label class="check">
          <input type="checkbox" checked={draft.weekends} onChange={() => set('weekends', !draft.weekends)} />
          Also all day on Saturday and Sunday
        </label>
        <span class="hint">What is not critical waits until they end, and is sent as one message.</span>
      </fieldset>
      <Field
        label="Time zone"
        {...typed('zone')}
        hint="Of quiet hours, of the digest and of times in messages."
      />
      <fieldset class="field">
        <legend class="label">At other times</legend>
        <span class="sentence">
          At most one message about a topic in
          <ShortInput label="Minutes" {...typed('gap')} />
          minutes
        </span>
      </fieldset>
      <Choose label="Digest at 08:00" {...chosen('digest')} choices={DIGESTS} />
    </>
  );
}

interface ShortInputProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
}

function ShortInput({ label, value, onInput }: ShortInputProps) {
  return (
    <input
      class="input short"
      type="text"
      aria-label={label}
      value={value}
      placeholder={label === 'Minutes' ? '' : '–'}
      autoComplete="off"
      onInput={({ currentTarget }) => onInput(currentTarget.value)}
    />
  );
}
