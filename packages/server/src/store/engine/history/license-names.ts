import type { Instant } from '../../../core/nouns/instant.ts';
import { type License, type LicenseId, nameOfLicense } from '../../../core/nouns/license.ts';
import type { WhichLicenses } from '../../history-query.ts';
import { isAmong, listIds } from '../among.ts';
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

/** What the statements about these licenses are given. */
export function licenseValues({ licenseId, among }: WhichLicenses) {
  if (licenseId !== null) return { licenseId };
  return among === undefined ? {} : { among: listIds(among) };
}

/** The most recently added first. */
export function querySubjects(which: WhichLicenses): PreparedQuery<LicenseNames> {
  const { licenseId, among } = which;
  const where = licenseId !== null ? 'id = :licenseId' : among === undefined ? 'id > 0' : isAmong('id');
  return prepareQuery(
    `SELECT * FROM license WHERE ${where} ORDER BY added_order DESC`,
    licenseValues(which),
    (rows: readonly RowOf<'license'>[]) => new LicenseNames(rows),
  );
}
