import type { ComponentChildren } from 'preact';

/** Its head, what a row has in it, and classes of both. */
type Column<T> = readonly [head: string, draw: (row: T) => ComponentChildren, className?: string];

interface TableProps<T> {
  readonly rows: readonly T[];
  readonly keyOf: (row: T, index: number) => string | number;
  readonly columns: readonly (Column<T> | false)[];
  /** What can be done with a row. */
  readonly actions?: (row: T) => ComponentChildren;
  /** What a click does anywhere in a row but on a link, which does it anyway. */
  readonly onOpen?: (row: T) => void;
  readonly rowClass?: string;
  /** Whether numbers on a phone say what they are. */
  readonly hasLabels?: boolean;
  readonly isTall?: boolean;
}

/** On a phone, each row becomes a block of its own. */
export function Table<T>(props: TableProps<T>) {
  const { rows, keyOf, columns, actions, onOpen, rowClass, hasLabels = false, isTall = false } = props;
  const shown = columns.filter((column) => column !== false);
  const open = (event: MouseEvent, row: T) => {
    if (event.target instanceof Element && event.target.closest('a, button') !== null) return;
    onOpen?.(row);
  };
  return (
    <div class="items">
      <PlainTable
        columns={shown.map(([head, , className]) => [head, className])}
        hasActions={actions !== undefined}
        isTall={isTall}
      >
        {rows.map((row, index) => (
          <tr key={keyOf(row, index)} class={rowClass} onClick={onOpen && ((event) => open(event, row))}>
            {shown.map(([head, draw, className]) => (
              <td
                key={head}
                class={className}
                data-label={hasLabels && className?.startsWith('number') ? head : undefined}
              >
                {draw(row)}
              </td>
            ))}
            {actions !== undefined && <td class="right act">{actions(row)}</td>}
          </tr>
        ))}
      </PlainTable>
    </div>
  );
}

interface TwoLinesProps {
  readonly first: ComponentChildren;
  readonly second: ComponentChildren;
}

/** Two lines in a cell, the second one smaller. */
export function TwoLines({ first, second }: TwoLinesProps) {
  return (
    <span class="two">
      {first}
      <span>{second}</span>
    </span>
  );
}

interface PlainTableProps {
  readonly columns: readonly (string | readonly [label: string, className: string | undefined])[];
  /** Whether the last column has what can be done with a row. */
  readonly hasActions?: boolean;
  readonly isTall?: boolean;
  readonly children: ComponentChildren;
}

/** The same on every screen. */
export function PlainTable({ columns, hasActions = false, isTall = false, children }: PlainTableProps) {
  return (
    <table class={isTall ? 'table tall' : 'table'}>
      <thead>
        <tr>
          {columns.map((column) => {
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
