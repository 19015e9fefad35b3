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

type Imported = Pick<PostAnswer<'/api/admin/rules/import'>, 'text' | 'report'>;

const VERDICTS = {
  taken: { level: 'ok', word: 'Taken' },
  differs: { level: 'warning', word: 'Differs' },
  dropped: { level: 'off', word: 'Left out' },
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
      setFound(isRules(chosen.name) ? { text, report: [] } : await post('/api/admin/rules/import', { text }));
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

function Report({ report, text }: Imported) {
  if (report.length === 0) return <p class="second">{plural(text.split('\n').length, 'line')} were read.</p>;
  const count = (verdict: Imported['report'][number]['verdict']) =>
    report.filter((one) => one.verdict === verdict).length;
  return (
    <>
      <p>
        {plural(count('taken'), 'line')} taken, {count('differs')} taken differently, {count('dropped')} left
        out.
      </p>
      <PlainTable columns={[['Line', 'number'], 'In the file', 'Result', 'How']}>
        {report.map(({ line, source, verdict, message }) => (
          <tr key={line} class="top">
            <td class="number">{line}</td>
            <td class="breaks">
              <code>{source}</code>
            </td>
            <td>
              <State {...VERDICTS[verdict]} />
            </td>
            <td class="breaks">{message}</td>
          </tr>
        ))}
      </PlainTable>
    </>
  );
}
