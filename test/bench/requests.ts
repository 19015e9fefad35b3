import { NONCE_MARK, type RequestPlan, USER_MARK } from './load/load-plan.ts';

/** What a client sends, about 120 bytes. */
export function requestBody(product: string): string {
  return JSON.stringify({
    product,
    user: `user-${USER_MARK}`,
    os_hostname: `host-${USER_MARK}.example.com`,
    ip_local: '192.0.2.17',
  });
}

function post(path: string, product: string, status = 200): RequestPlan {
  return { method: 'POST', path, body: requestBody(product), statuses: [status] };
}

export function registerPlan(product: string, status = 200): RequestPlan {
  return post('/api/v4/register', product, status);
}

/** The same, and the answer has a grant. */
export function withNonce(request: RequestPlan): RequestPlan {
  return { ...request, body: JSON.stringify({ ...JSON.parse(request.body), nonce: NONCE_MARK }) };
}

export function unregisterPlan(product: string): RequestPlan {
  return post('/api/v4/unregister', product);
}

/** Without a date: the longest that the license allows. */
export function borrowPlan(product: string): RequestPlan {
  return post('/api/v4/borrow', product);
}

/** A product that belongs to one user. */
export const OWN_PRODUCT = `own-${USER_MARK}`;

/** Adds 1. */
export function consumptionPlan(product: string): RequestPlan {
  return post('/api/v4/add_consumption', product);
}
