/** Programs that open CSV run a cell that begins like this as a formula. */
const FORMULA = /^[=+\-@\t\r]/;

/** A table as CSV (RFC 4180). Text that a spreadsheet would run is made text with an apostrophe. */
export function toCsv(rows: readonly (readonly (string | number | boolean | null)[])[]): string {
  return rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}

function cell(value: string | number | boolean | null): string {
  if (value === null) return '';
  if (typeof value !== 'string') return String(value);
  const safe = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
