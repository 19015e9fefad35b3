import type { ComponentChildren } from 'preact';

type Column = string | readonly [label: string, className: string];

interface TableProps {
  readonly columns: readonly (Column | false)[];
  /** Whether the last column has what can be done with a row. */
  readonly hasActions?: boolean;
  readonly isTall?: boolean;
  readonly children: ComponentChildren;
}

/** On a phone, each row becomes a block of its own. */
export function Table(props: TableProps) {
  return (
    <div class="items">
      <PlainTable {...props} />
    </div>
  );
}

/** The same on every screen. */
export function PlainTable({ columns, hasActions = false, isTall = false, children }: TableProps) {
  const shown = columns.filter((column) => column !== false);
  return (
    <table class={isTall ? 'table tall' : 'table'}>
      <thead>
        <tr>
          {shown.map((column) => {
            const [label, className] = typeof column === 'string' ? [column] : column;
            return (
              <th key={label} scope="col" class={className}>
                {label}
              </th>
            );
          })}
          {hasActions && (
            <th scope="col">
              <span class="hidden-text">Actions</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}
