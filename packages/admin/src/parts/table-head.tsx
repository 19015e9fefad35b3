interface TableHeadProps {
  readonly labels: readonly string[];
}

/** The head of a table whose last column has what can be done with a row. */
export function TableHead({ labels }: TableHeadProps) {
  return (
    <thead>
      <tr>
        {labels.map((label) => (
          <th key={label} scope="col">
            {label}
          </th>
        ))}
        <th scope="col">
          <span class="hidden-text">Actions</span>
        </th>
      </tr>
    </thead>
  );
}
