import { RequestError } from '@berth/protocol/request-error';
import type { Identity } from '../../../services/identity/identity.ts';
import type { Route } from '../../route.ts';

/**
 * A client that has stored something for one server may meet another under the same address. It names the
 * store that it means, and a server with another one does nothing.
 */
export function createStoreGate(identity: Pick<Identity, 'readStoreId'>) {
  const requireStore = async (named: unknown) => {
    const storeId = await identity.readStoreId();
    if (named === storeId) return;
    throw new RequestError(
      'wrong_store',
      'The request is meant for a license server with other data. Ask that one; this server did nothing.',
      { store_id: storeId },
    );
  };
  return (routes: readonly Route[]): readonly Route[] =>
    routes.map((route) => {
      if (route.body === undefined || !('store_id' in route.body.shape)) return route;
      return { ...route, errors: [...route.errors, 'wrong_store'], requireStore };
    });
}
