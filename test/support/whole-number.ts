/** What stands behind a flag, such as `--seed`. Anything but a number would silently become NaN. */
export function readWholeNumber(flag: string, text: string, least = 0): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value;
  throw new Error(`${flag} takes a whole number from ${least}.`);
}
