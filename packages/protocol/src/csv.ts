export type CsvValue = string | number | boolean | null;

/** Spreadsheets take text that begins like this for a formula. Names come from outside. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;

/** A table as CSV (RFC 4180). Text that a spreadsheet would take for a formula gets a quote before it. */
export function formatCsv(columns: readonly string[], rows: readonly (readonly CsvValue[])[]): string {
  return [columns, ...rows].map((row) => `${row.map(formatCell).join(',')}\r\n`).join('');
}

function formatCell(value: CsvValue): string {
  if (value === null) return '';
  if (typeof value !== 'string') return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
