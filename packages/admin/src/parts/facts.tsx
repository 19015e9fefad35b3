import type { ComponentChildren } from 'preact';

type Row = readonly [name: ComponentChildren, value: ComponentChildren];

/** Names and values in two columns. */
export function Facts({ rows }: { readonly rows: readonly (Row | false)[] }) {
  return (
    <dl class="facts">
      {rows
        .filter((row) => row !== false)
        .map(([name, value]) => (
          <>
            <dt>{name}</dt>
            <dd dir="auto">{value}</dd>
          </>
        ))}
    </dl>
  );
}

interface TermProps {
  readonly name: string;
  readonly note?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A row of a list of terms or settings. */
export function Term({ name, note, children }: TermProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {children}
        {note != null && note !== '' && <small>{note}</small>}
      </dd>
    </div>
  );
}

export function TermList({ children }: { readonly children: ComponentChildren }) {
  return <dl class="terms settings-list">{children}</dl>;
}
