import type { LicenseId } from '../../core/nouns/license.ts';

/** Whether a column has one of the ids in `:among`: one statement for any number of them, in both dialects. */
export function isAmong(column: string): string {
  return `CAST(:among AS text) LIKE '%,' || ${column} || ',%'`;
}

export function listIds(ids: readonly LicenseId[]): string {
  return `,${ids.join(',')},`;
}
