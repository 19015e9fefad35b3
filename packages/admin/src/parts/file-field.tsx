import { useEffect, useId, useState } from 'preact/hooks';
import { formatBytes } from '../words/numbers.ts';
import { Icon } from './icon.tsx';
import { Shape } from './shape.tsx';

interface FileFieldProps {
  readonly label: string;
  readonly file: File | null;
  readonly onFile: (file: File) => void;
  readonly fault?: string | null;
}

/** Dropped here, or chosen by a click or a key: the whole area is the input. */
export function FileField({ label, file, onFile, fault = null }: FileFieldProps) {
  const [isOver, setOver] = useState(false);
  const id = useId();
  useStayingPage();
  const take = (files: FileList | null | undefined) => {
    const [first] = files ?? [];
    if (first !== undefined) onFile(first);
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div
        class={`drop${isOver ? ' over' : ''}`}
        onDragOver={() => setOver(true)}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          take(event.dataTransfer?.files);
        }}
      >
        <Icon name="file" />
        {file !== null && (
          <span>
            <b>
              <bdi>{file.name}</bdi>
            </b>{' '}
            <span class="quiet">{formatBytes(file.size)}</span>
          </span>
        )}
        <span class="second">
          {file === null ? 'Drop the file here, or ' : 'Drop another one, or '}
          <span class="link">choose it</span>
        </span>
        <input
          id={id}
          type="file"
          aria-invalid={fault !== null}
          aria-describedby={`${id}-note`}
          onChange={(event) => {
            take(event.currentTarget.files);
            // So that the same file can be chosen again after it was changed.
            event.currentTarget.value = '';
          }}
        />
      </div>
      <div id={`${id}-note`} aria-live="polite">
        {fault !== null && (
          <span class="fault">
            <Shape level="critical" />
            {fault}
          </span>
        )}
      </div>
    </div>
  );
}

/** A browser opens a file that is dropped beside the field, and what was typed would be lost. */
function useStayingPage(): void {
  useEffect(() => {
    const stay = (event: Event) => event.preventDefault();
    addEventListener('dragover', stay);
    addEventListener('drop', stay);
    return () => {
      removeEventListener('dragover', stay);
      removeEventListener('drop', stay);
    };
  }, []);
}
