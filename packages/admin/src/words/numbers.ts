/** Such as 74,312. */
export function formatNumber(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: 1 });
}

/** Exact up to a million, then three digits: 3.02 M. */
export function formatAmount(value: number): string {
  if (Math.abs(value) < 1e6) return formatNumber(Math.round(value));
  const [size, unit] = Math.abs(value) < 1e9 ? [1e6, 'M'] : [1e9, 'bn'];
  const scaled = value / size;
  const digits = Math.abs(scaled) >= 100 ? 0 : Math.abs(scaled) >= 10 ? 1 : 2;
  return `${scaled.toFixed(digits)} ${unit}`;
}

/** Such as 2.1 kB. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  const [size, unit] = bytes < 1e6 ? [1e3, 'kB'] : bytes < 1e9 ? [1e6, 'MB'] : [1e9, 'GB'];
  return `${(bytes / size).toFixed(1)} ${unit}`;
}

const WORDS = ['No', 'One', 'Two', 'Three', 'Four', 'Five', 'Six', 'Seven', 'Eight', 'Nine', 'Ten'];

/** A small number at the beginning of a sentence. */
export function countWord(count: number): string {
  return WORDS[count] ?? formatNumber(count);
}

/** Round numbers for an axis from 0 to at least `most`. */
export function axisSteps(most: number, count = 4): readonly number[] {
  const rough = Math.max(most, 1) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power);
  const whole = Number.isInteger(step) ? step : Math.ceil(step);
  return Array.from({ length: Math.ceil(Math.max(most, 1) / whole) + 1 }, (_, index) => index * whole);
}
