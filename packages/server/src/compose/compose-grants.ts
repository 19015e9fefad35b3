import { presentTerms } from '../http/reply/present-grant.ts';
import { createCoverage } from '../services/grants/coverage.ts';
import { createGrantKeyAdmin } from '../services/grants/grant-key-admin.ts';
import { createGrants } from '../services/grants/grants.ts';
import type { Store } from '../store/store.ts';
import type { CloudParts } from './compose-cloud.ts';

export const findUncertified = createCoverage(presentTerms);

/** What signs grants, and what administers its keys. */
export function composeGrants(store: Store, parts: CloudParts) {
  const { identity, grantKeys: keys, certification, vendorKeys, renewals } = parts;
  const onRotated = () => {
    for (const renew of renewals) renew();
  };
  return {
    grants: createGrants(keys, identity),
    identityDesk: createGrantKeyAdmin({
      ...{ store, keys, identity, certification, vendorKeys, findUncertified, onRotated },
    }),
  };
}
