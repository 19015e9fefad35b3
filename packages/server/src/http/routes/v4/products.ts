import { licenseObject } from '@berth/protocol/api/license-object';
import { addProductRequest, removeProductAnswer, removeProductRequest } from '@berth/protocol/api/products';
import { RequestError } from '@berth/protocol/request-error';
import { json, jsonText } from '@berth/web/reply';
import type { CloudLink } from '../../../services/cloud/cloud-link.ts';
import { presentLicense } from '../../reply/present-license.ts';
import { defineRoute, type Route } from '../../route.ts';
import { targetOf } from './lending.ts';

interface ProductServices {
  readonly cloudLink: CloudLink;
  /** Whether passwords are allowed in URLs. */
  readonly allowKeysInUrl: boolean;
}

/** Refusals of requests to the cloud. */
export const CLOUD_ERRORS = [
  'too_many_requests',
  'cloud_not_configured',
  'cloud_keys_missing',
  'invalid_api_key',
  'signature_mismatch',
  'date_not_valid',
  'cloud_refused',
  'cloud_unavailable',
] as const;

export function productRoutes(services: ProductServices): readonly Route[] {
  return [addProductRoute(services), removeProductRoute(services)];
}

function addProductRoute({ cloudLink, allowKeysInUrl }: ProductServices): Route {
  return defineRoute('GET POST /api/v4/addProduct', {
    name: 'add_product',
    access: 'admin',
    summary: 'Activate a license at the licensing cloud and add it, or refresh an installed one; prefer POST',
    query: addProductRequest,
    body: addProductRequest,
    answer: { kind: 'json', schema: licenseObject },
    errors: [
      'keys_in_url_not_allowed',
      'missing_parameters',
      'unknown_product',
      'license_not_found',
      'license_not_enabled',
      'license_expired',
      'invalid_credentials',
      'blacklisted',
      'license_activated_max_times',
      'license_not_floating',
      'license_not_readable',
      ...CLOUD_ERRORS,
    ],
    handle: async ({ query, body, caller }) => {
      if (typeof query.password === 'string' && !allowKeysInUrl) throw passwordInUrl();
      const given = { ...query, ...body };
      const { product = null, license_key: licenseKey = null, username = null, password = null } = given;
      const record = await cloudLink.add({ product, licenseKey, username, password }, caller.actor);
      return jsonText(presentLicense({ ...record, registration: null }));
    },
  });
}

function passwordInUrl(): RequestError {
  return new RequestError(
    'keys_in_url_not_allowed',
    'This server does not accept passwords in a URL. Send it in the body of a POST, and change the password.',
  );
}

function removeProductRoute({ cloudLink }: ProductServices): Route {
  return defineRoute('GET POST /api/v4/removeProduct', {
    name: 'remove_product',
    access: 'admin',
    summary: 'Deactivate a license at the licensing cloud and remove it',
    query: removeProductRequest,
    body: removeProductRequest,
    answer: { kind: 'json', schema: removeProductAnswer },
    errors: [
      'missing_parameters',
      'unknown_product',
      'license_not_found',
      'device_not_found',
      ...CLOUD_ERRORS,
    ],
    handle: async ({ query, body, caller }) => {
      const given = { ...query, ...body };
      const request = { ...targetOf(given), licenseKey: given.license_key ?? null };
      const removed = await cloudLink.remove(request, false, caller.actor);
      return json({ license_id: removed.id, product: removed.product });
    },
  });
}
