import {
  isSignedByServer,
  isSignedWithKeys,
  type ReadRequest,
} from '@berth/protocol/carried/offline-request';
import { type Refusal, refuse } from '../../core/refusal.ts';
import type { CloudStore } from '../cloud-store.ts';
import { DUMMY_SHARED_KEY, findCaller } from './keys.ts';

/** Who vouches for a request. */
export type SigningParty =
  | { readonly kind: 'cloud-keys'; readonly customer: string | null }
  | { readonly kind: 'server' };

/** A request with an API key is signed with it; any other request is signed by the server. */
export function verifyRequest(store: CloudStore, request: ReadRequest): SigningParty | Refusal {
  const { api_key: apiKey } = request.fields;
  if (typeof apiKey === 'string') return verifyKeys(store, request, apiKey);
  const { server_key: serverKey } = request.fields;
  if (typeof serverKey === 'string' && isSignedByServer(serverKey, request.text, request.signature)) {
    return { kind: 'server' };
  }
  return refuse('signature_mismatch', 'The request was changed: the signature of the server is wrong.');
}

function verifyKeys(store: CloudStore, request: ReadRequest, apiKey: string): SigningParty | Refusal {
  const caller = findCaller(store, apiKey);
  const isSigned = isSignedWithKeys(request, caller?.sharedKey ?? DUMMY_SHARED_KEY);
  if (caller === null) {
    return refuse('invalid_api_key', 'The request is signed with an API key that is unknown or disabled.');
  }
  if (isSigned) return { kind: 'cloud-keys', customer: caller.customer };
  return refuse(
    'signature_mismatch',
    'The signature is wrong: the request was changed, or the server has a different shared key.',
  );
}
