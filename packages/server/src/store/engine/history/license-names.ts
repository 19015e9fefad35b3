import type { Instant } from '../../../core/nouns/instant.ts';
import { type License, type LicenseId, nameOfLicense } from '../../../core/nouns/license.ts';
import { type PreparedQuery, prepareQuery } from '../prepared-query.ts';
import { licenseFromRow } from '../rows.ts';
import type { RowOf } from '../tables.ts';

/** What the licenses are called; removed ones too. */
export class LicenseNames {
  readonly #licenses: ReadonlyMap<LicenseId, ListedLicense>;

  constructor(rows: readonly RowOf<'license'>[]) {
    this.#licenses = new Map(
      rows.map((row) => [
        row.id,
        { license: licenseFromRow(row), addedAt: row.added_at, isRemoved: row.removed_at !== null },
      ]),
    );
  }

  list(): readonly ListedLicense[] {
    return [...this.#licenses.values()];
  }

  find(id: LicenseId): License | undefined {
    return this.#licenses.get(id)?.license;
  }

  subjectOf(licenseId: LicenseId, feature: string) {
    const license = this.find(licenseId);
    const product = license?.product ?? '';
    return {
      licenseId,
      product,
      name: license === undefined ? product : nameOfLicense(license),
      feature: feature === '' ? null : feature,
    };
  }
}

interface ListedLicense {
  readonly license: License;
  readonly addedAt: Instant;
  readonly isRemoved: boolean;
}

/** The most recently added first. */
export function querySubjects(licenseId: LicenseId | null): PreparedQuery<LicenseNames> {
  const where = licenseId === null ? '' : 'WHERE id = :licenseId';
  return prepareQuery(
    `SELECT * FROM license ${where} ORDER BY added_order DESC`,
    licenseId === null ? {} : { licenseId },
    (rows: readonly RowOf<'license'>[]) => new LicenseNames(rows),
  );
}
