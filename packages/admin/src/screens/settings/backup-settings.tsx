import { useState } from 'preact/hooks';
import { readNow } from '../../clock.ts';
import { chunksOf, postFor } from '../../data/api.ts';
import { useStatus } from '../../data/overview.ts';
import { useResource } from '../../data/resource.ts';
import { may } from '../../data/session.ts';
import { Button } from '../../parts/button.tsx';
import { Term, TermList } from '../../parts/facts.tsx';
import { Field, Select } from '../../parts/field.tsx';
import { useSend } from '../../parts/form.tsx';
import { Section } from '../../parts/head.tsx';
import { saveFile } from '../../parts/save-file.ts';
import { Shape, State } from '../../parts/shape.tsx';
import { ErrorBox, Show } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { formatBytes } from '../../words/numbers.ts';
import { repeatOf } from '../../words/settings.ts';
import { type Draft, isEditable, LiveInput, LiveTerm, SaveBar, useDraft } from './draft.tsx';

/** How old the last backup is, how they are made, and a new one. */
export function BackupSettings() {
  const status = useStatus();
  const kept = useResource('/api/admin/backups', {}, { isLive: true });
  const draft = useDraft(() => {
    status.reload();
    kept.reload();
  });
  const isScheduled = (draft.of('backup.schedule')?.value ?? '') !== '';
  return (
    <Show of={status} what="The state of the backups">
      {({ backup }) => (
        <>
          <TermList>
            <Term name="Last backup" note={backup.last_file}>
              <Time at={backup.last_at} none="none yet" />
              {backup.last_at !== null && (
                <span class="quiet">
                  , <Time at={backup.last_at} as="distance" />
                </span>
              )}
            </Term>
            <Term name="Next one">
              <Time at={backup.due_at} none={isScheduled ? 'within a minute' : 'no schedule'} />
            </Term>
            {backup.failing_at !== null && (
              <Term name="Failing since" note={backup.error}>
                <Time at={backup.failing_at} />
              </Term>
            )}
            <ScheduleTerms draft={draft} folder={kept.data?.folder ?? ''} />
            <LiveTerm
              draft={draft}
              name="backup.passphraseFile"
              label="Passphrase file"
              placeholder="none"
              note="On the server. Its first line seals the master key into each scheduled backup."
            />
          </TermList>
          {!backup.is_key_kept && (isScheduled || backup.last_at !== null) && <KeyWarning />}
          <Show of={kept} what="The backups">
            {({ backups }) => <KeptBackups backups={backups} />}
          </Show>
          {may('POST /api/admin/backup') && <BackUpNow onDone={status.reload} />}
          <SaveBar draft={draft} />
        </>
      )}
    </Show>
  );
}

const REPEATS = [
  ['never', 'Never'],
  ['daily', 'Every day at'],
  ['every', 'Every'],
] as const;

/** What each way of repeating starts with. */
const FIRST = { never: '', daily: '02:00', every: '6h' };

function ScheduleTerms({ draft, folder }: { readonly draft: Draft; readonly folder: string }) {
  const schedule = draft.value('backup.schedule');
  const repeat = repeatOf(schedule);
  const [when, keep] = [draft.of('backup.schedule'), draft.of('backup.keep')];
  const keepsHere = when !== null && keep !== null && isEditable(when) && isEditable(keep);
  return (
    <>
      <LiveTerm draft={draft} name="backup.schedule" label="Schedule">
        <span class="sentence">
          <Select
            label="Repeat"
            value={repeat}
            choices={REPEATS}
            onChange={(chosen) => draft.set('backup.schedule', chosen === repeat ? schedule : FIRST[chosen])}
          />
          {repeat !== 'never' && (
            <LiveInput draft={draft} name="backup.schedule" label="Time or period" isShort placeholder="" />
          )}
          {!keepsHere && repeat === 'daily' && 'UTC'}
          {keepsHere && (
            <>
              {repeat === 'daily' ? 'UTC, keep' : 'keep'} the last
              <LiveInput draft={draft} name="backup.keep" label="How many to keep" isShort placeholder="" />
              backups
            </>
          )}
        </span>
      </LiveTerm>
      {!keepsHere && <LiveTerm draft={draft} name="backup.keep" label="Keep" isShort />}
      <LiveTerm draft={draft} name="backup.folder" label="Folder" placeholder={folder} />
    </>
  );
}

function KeyWarning() {
  return (
    <p class="notice-line">
      <Shape level="warning" />
      <span>
        <b>The master key is in no backup.</b> If this machine is lost, the backups cannot be restored. Set a
        passphrase file, or save the key elsewhere: <code>berth key export --out FILE</code>
      </span>
    </p>
  );
}

interface KeptProps {
  readonly backups: readonly {
    readonly file: string;
    readonly bytes: number;
    readonly made_at: string | null;
    readonly with_key: boolean | null;
  }[];
}

function KeptBackups({ backups }: KeptProps) {
  if (backups.length === 0) return null;
  return (
    <Section title="Scheduled backups">
      <Table
        rows={backups}
        keyOf={({ file }) => file}
        columns={[
          ['Made', ({ made_at }) => <Time at={made_at} />, 'whole'],
          ['Size', ({ bytes }) => formatBytes(bytes), 'right whole'],
          ['Can be restored', drawVerdict],
          ['File', ({ file }) => <code title={file}>{file.split(/[\\/]/).at(-1)}</code>, 'sentence-cell'],
        ]}
      />
    </Section>
  );
}

function drawVerdict({ with_key: withKey }: KeptProps['backups'][number]) {
  if (withKey === null) return <State level="critical" word="Damaged" />;
  return <State level={withKey ? 'ok' : 'off'} word={withKey ? 'On its own' : 'Needs the master key'} />;
}

const HINT =
  'Seals the master key into the backup; at least 12 characters. Without it, keep the master key elsewhere.';

/** The file is gathered in the browser's memory, or on its disk if it is large. */
function BackUpNow({ onDone }: { readonly onDone: () => void }) {
  const [passphrase, setPassphrase] = useState('');
  const [progress, setProgress] = useState(0);
  const [control, setControl] = useState<AbortController | null>(null);
  const { error, isBusy, submit } = useSend(async () => {
    const stopping = new AbortController();
    setControl(stopping);
    setProgress(0);
    const body = passphrase === '' ? {} : { passphrase };
    try {
      const response = await postFor('/api/admin/backup', body, stopping.signal);
      const parts: BlobPart[] = [];
      let received = 0;
      for await (const part of chunksOf(response.body as ReadableStream<Uint8Array<ArrayBuffer>>)) {
        parts.push(part);
        received += part.length;
        setProgress(received);
      }
      saveFile(`berth-${new Date(readNow()).toISOString().slice(0, 10)}.backup`, new Blob(parts));
      onDone();
    } catch (failure) {
      if (!stopping.signal.aborted) throw failure;
    }
  });
  return (
    <Section title="Back up now">
      <form class="form" onSubmit={submit} noValidate>
        <Field
          label="Passphrase"
          type="password"
          value={passphrase}
          onInput={setPassphrase}
          autoComplete="new-password"
          hint={HINT}
        />
        {error !== null && <ErrorBox title="The backup was not made." error={error} />}
        <p class="done-line">
          <Button as="primary" icon="download" isSubmit isBusy={isBusy}>
            {isBusy ? `${formatBytes(progress)} so far` : 'Back up'}
          </Button>
          {isBusy && (
            <Button as="link" onClick={() => control?.abort()}>
              Stop
            </Button>
          )}
        </p>
      </form>
    </Section>
  );
}
