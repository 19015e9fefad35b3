import { useId, useState } from 'preact/hooks';
import { formatBytes } from '../words/numbers.ts';
import { Icon } from './icon.tsx';
import { Shape } from './shape.tsx';

interface FileFieldProps {
  readonly label: string;
  readonly file: File | null;
  readonly onFile: (file: File | null) => void;
  readonly fault?: string | null;
}

/** Chosen, or dropped here. */
export function FileField({ label, file, onFile, fault = null }: FileFieldProps) {
  const [isOver, setOver] = useState(false);
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div
        class={`drop${isOver ? ' over' : ''}`}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          onFile(event.dataTransfer?.files[0] ?? null);
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
        <input
          id={id}
          type="file"
          aria-describedby={`${id}-note`}
          onChange={(event) => onFile(event.currentTarget.files?.[0] ?? null)}
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
