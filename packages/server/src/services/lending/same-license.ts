import { RequestError } from '@berth/protocol/request-error';
import { isSameKey, type License, type LicenseId } from '../../core/nouns/license.ts';
import type { Store } from '../../store/store.ts';

/** What names a license at its vendor. */
type Named = Pick<License, 'id' | 'product' | 'key'> & Pick<License['tie'], 'username'>;

/** The ids under which this server has the same license. */
export async function findSame(
  store: Store,
  { id, product, key, username }: Named,
): Promise<readonly LicenseId[]> {
  const records = await store.read({ kind: 'list_licenses', product });
  const isSame = (license: License) =>
    (key !== '' && license.key !== '' && isSameKey(license, { key })) ||
    (username !== null && license.tie.username === username);
  const same = records.filter(({ license }) => license.id !== id && isSame(license));
  return same.map(({ license }) => license.id);
}

/** A restored cloud may have given the id of a license that is here to another; `null`: it has not. */
export async function findFault(store: Store, { id, key }: Named): Promise<RequestError | null> {
  const records = await store.read({ kind: 'list_licenses', product: null });
  const other = records.find(({ license }) => license.id === id && !isSameKey(license, { key }));
  return other === undefined ? null : otherKey(other.license);
}

const KEY_END = 4;

function otherKey({ id, product, key }: License): RequestError {
  return new RequestError(
    'validation_error',
    `This server has another license with the id ${id}: of "${product}", with a key that ends with ` +
      `"${key.slice(-KEY_END)}". The vendor may have restored a backup of the licensing cloud. Add that ` +
      'license again first: it then gets its new id, and keeps its slots. Or remove it.',
  );
}
