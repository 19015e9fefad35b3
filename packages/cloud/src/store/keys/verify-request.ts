import {
  isSignedByServer,
  isSignedWithKeys,
  type ReadRequest,
} from '@berth/protocol/carried/offline-request';
import { type Refusal, refuse } from '../../core/refusal.ts';
import type { CloudStore } from '../cloud-store.ts';
import { findCaller } from './keys.ts';

/** Who vouches for a request. */
export type Voucher = 'cloud-keys' | 'server';

/** Checks for keys that do not exist, so that they take as long as others. It fits nothing. */
const NOBODYS_SHARED_KEY = '0'.repeat(64);

/** A request that names an API key is signed with it; one that names none, by the server itself. */
export function verifyRequest(store: CloudStore, request: ReadRequest): Voucher | Refusal {
  const { api_key: apiKey } = request.fields;
  if (typeof apiKey === 'string') return verifyKeys(store, request, apiKey);
  const { server_key: serverKey } = request.fields;
  if (typeof serverKey === 'string' && isSignedByServer(serverKey, request.text, request.signature)) {
    return 'server';
  }
  return refuse('signature_mismatch', 'The request was changed: the signature of the server is wrong.');
}

function verifyKeys(store: CloudStore, request: ReadRequest, apiKey: string): Voucher | Refusal {
  const caller = findCaller(store, apiKey);
  const isSigned = isSignedWithKeys(request, caller?.sharedKey ?? NOBODYS_SHARED_KEY);
  if (caller === null) {
    return refuse('invalid_api_key', 'The request is signed with an API key that is unknown or disabled.');
  }
  if (isSigned) return 'cloud-keys';
  return refuse(
    'signature_mismatch',
    'The signature is wrong: the request was changed, or the server has a different shared key.',
  );
}
