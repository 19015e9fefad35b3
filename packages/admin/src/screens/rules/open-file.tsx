import type { PostAnswer } from '@berth/protocol/admin/admin-api';
import { useState } from 'preact/hooks';
import { type ApiError, post, toApiError } from '../../data/api.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { FileField } from '../../parts/file-field.tsx';
import { State } from '../../parts/shape.tsx';
import { ErrorBox } from '../../parts/states.tsx';
import { PlainTable } from '../../parts/table.tsx';
import { plural } from '../../words/time.ts';

type Imported = Pick<PostAnswer<'/api/admin/rules/import'>, 'text' | 'report' | 'notes'>;

const VERDICTS = {
  same: { level: 'ok', word: 'Same' },
  changed: { level: 'warning', word: 'Changed' },
  unneeded: { level: 'off', word: 'Nothing to do' },
  lost: { level: 'critical', word: 'Lost' },
} as const;

interface OpenFileProps {
  readonly onText: (text: string) => void;
  readonly onClose: () => void;
}

/** Rules from a file, or what an options file of another license manager becomes. */
export function OpenFile({ onText, onClose }: OpenFileProps) {
  const [file, setFile] = useState<File | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [found, setFound] = useState<Imported | null>(null);
  const take = async (chosen: File) => {
    setFile(chosen);
    setError(null);
    setFound(null);
    try {
      const text = await chosen.text();
      setFound(
        isRules(chosen.name)
          ? { text, report: [], notes: [] }
          : await post('/api/admin/rules/import', { text }),
      );
    } catch (failure) {
      setError(toApiError(failure));
    }
  };
  return (
    <Dialog title="Open a file" isWide onClose={onClose}>
      <p class="second">
        A file with rules (.yaml), or an options file of FlexNet or RLM. It is put in the editor; nothing is
        applied.
      </p>
      <FileField label="File" file={file} onFile={take} />
      {error !== null && <ErrorBox title="The file could not be read as rules." error={error} />}
      {found !== null && <Report {...found} />}
      <div class="buttons">
        <Button onClick={onClose}>Cancel</Button>
        {found !== null && (
          <Button
            as="primary"
            onClick={() => {
              onText(found.text);
              onClose();
            }}
          >
            Put it in the editor
          </Button>
        )}
      </div>
    </Dialog>
  );
}

function isRules(name: string): boolean {
  return /\.ya?ml$/i.test(name);
}

function Report({ report, notes, text }: Imported) {
  if (report.length === 0) return <p class="second">{plural(text.split('\n').length, 'line')} were read.</p>;
  const count = (verdict: Imported['report'][number]['verdict']) =>
    report.filter((one) => one.verdict === verdict).length;
  return (
    <>
      <p>
        {plural(report.length, 'line')}: {count('same')} the same, {count('changed')} changed,{' '}
        {count('unneeded')} with nothing to do, {count('lost')} lost. What is left to do is also at the end of
        the rules.
      </p>
      {notes.map((note) => (
        <p key={note} class="second">
          {note}
        </p>
      ))}
      <PlainTable columns={[['Line', 'number'], 'In the file', 'Result', 'Before and now']}>
        {report.map(({ line, source, verdict, was, now, todo }) => (
          <tr key={line} class="top">
            <td class="number">{line}</td>
            <td class="breaks">
              <code>{source}</code>
            </td>
            <td>
              <State {...VERDICTS[verdict]} />
            </td>
            <td class="breaks">
              <div class="second">{was}</div>
              <div>{now}</div>
              {todo !== null && <strong>{todo}</strong>}
            </td>
          </tr>
        ))}
      </PlainTable>
    </>
  );
}
