import { useState } from 'preact/hooks';
import { readNow } from '../../clock.ts';
import { ApiError, postFor } from '../../data/api.ts';
import { useStatus } from '../../data/overview.ts';
import { isAdmin } from '../../data/session.ts';
import { Field } from '../../parts/field.tsx';
import { Section } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { saveFile } from '../../parts/save-file.ts';
import { Command, ErrorBox, Show } from '../../parts/states.tsx';
import { Time } from '../../parts/time.tsx';
import { formatBytes } from '../../words/numbers.ts';
import { Setting, SettingList } from './setting-list.tsx';

const EXAMPLE = `backup:
  schedule: "02:00"
  folder: /var/backups/berth`;

/** How old the last backup is, and a new one. */
export function BackupSettings() {
  const status = useStatus();
  return (
    <Show of={status} what="The state of the backups">
      {({ backup }) => (
        <>
          <SettingList>
            <Setting name="Last backup" note={backup.last_file}>
              <Time at={backup.last_at} none="none yet" />
              {backup.last_at !== null && (
                <span class="quiet">
                  , <Time at={backup.last_at} as="distance" />
                </span>
              )}
            </Setting>
            <Setting name="Next one">
              <Time at={backup.due_at} none="no schedule" />
            </Setting>
            {backup.failing_at !== null && (
              <Setting name="Failing since" note={backup.error}>
                <Time at={backup.failing_at} />
              </Setting>
            )}
          </SettingList>
          {isAdmin() && <BackUpNow onDone={status.reload} />}
          {backup.due_at === null && (
            <Section title="Make them by themselves">
              <p class="second">Put this into berth.yaml and restart the server:</p>
              <Command text={EXAMPLE} />
            </Section>
          )}
        </>
      )}
    </Show>
  );
}

const HINT =
  'Seals the master key into the backup; at least 12 characters. Without it, keep the master key elsewhere.';

/** The file is gathered in the browser's memory, or on its disk if it is large. */
function BackUpNow({ onDone }: { readonly onDone: () => void }) {
  const [passphrase, setPassphrase] = useState('');
  const [progress, setProgress] = useState<number | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [control, setControl] = useState<AbortController | null>(null);
  const save = async (event: Event) => {
    event.preventDefault();
    if (progress !== null) return;
    const stopping = new AbortController();
    setControl(stopping);
    setError(null);
    setProgress(0);
    try {
      const body = passphrase === '' ? {} : { passphrase };
      const response = await postFor('/api/admin/backup', body, stopping.signal);
      const parts: BlobPart[] = [];
      let received = 0;
      for await (const part of chunksOf(response)) {
        parts.push(part);
        received += part.length;
        setProgress(received);
      }
      saveFile(`berth-${new Date(readNow()).toISOString().slice(0, 10)}.backup`, new Blob(parts));
      onDone();
    } catch (failure) {
      if (failure instanceof ApiError) setError(failure);
    }
    setProgress(null);
  };
  return (
    <Section title="Back up now">
      <form class="form" onSubmit={save} noValidate>
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
          <button type="submit" class="button primary" aria-disabled={progress !== null}>
            <Icon name="download" />
            {progress === null ? 'Back up' : `${formatBytes(progress)} so far`}
          </button>
          {progress !== null && (
            <button type="button" class="link" onClick={() => control?.abort()}>
              Stop
            </button>
          )}
        </p>
      </form>
    </Section>
  );
}

async function* chunksOf(response: Response): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value as Uint8Array<ArrayBuffer>;
  }
}
