import { useState } from 'preact/hooks';
import { readNow } from '../../clock.ts';
import { chunksOf, postFor } from '../../data/api.ts';
import { useStatus } from '../../data/overview.ts';
import { isAdmin } from '../../data/session.ts';
import { Button } from '../../parts/button.tsx';
import { Term, TermList } from '../../parts/facts.tsx';
import { Field } from '../../parts/field.tsx';
import { useSend } from '../../parts/form.tsx';
import { Section } from '../../parts/head.tsx';
import { saveFile } from '../../parts/save-file.ts';
import { Command, ErrorBox, Show } from '../../parts/states.tsx';
import { Time } from '../../parts/time.tsx';
import { formatBytes } from '../../words/numbers.ts';

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
              <Time at={backup.due_at} none="no schedule" />
            </Term>
            {backup.failing_at !== null && (
              <Term name="Failing since" note={backup.error}>
                <Time at={backup.failing_at} />
              </Term>
            )}
          </TermList>
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
