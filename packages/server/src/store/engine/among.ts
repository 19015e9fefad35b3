import type { LicenseId } from '../../core/nouns/license.ts';

/** Whether a column has one of the ids in `:among`. The same statement for any number of them. */
export function isAmong(column: string): string {
  return `CAST(:among AS text) LIKE '%,' || ${column} || ',%'`;
}

export function listIds(ids: readonly LicenseId[]): string {
  return `,${ids.join(',')},`;
}
