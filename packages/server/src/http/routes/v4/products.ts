import { licenseObject } from '@berth/protocol/license-object';
import {
  addProductQuery,
  addProductRequest,
  removeProductAnswer,
  removeProductQuery,
  removeProductRequest,
} from '@berth/protocol/products';
import type { z } from 'zod';
import { licenseId } from '../../../core/license.ts';
import type { CloudLink } from '../../../services/cloud-link.ts';
import { RequestError } from '../../../services/request-error.ts';
import { actorOf, type Caller } from '../../caller.ts';
import { presentLicense } from '../../present-license.ts';
import { json, jsonText, type Reply } from '../../reply.ts';
import { defineRoute, type Route } from '../../route.ts';

interface ProductOptions {
  /** Whether a password may stand in a URL. */
  readonly allowKeysInUrl: boolean;
}

/** What may keep the cloud from being asked, or from agreeing. */
const CLOUD_ERRORS = [
  'cloud_not_configured',
  'cloud_keys_missing',
  'invalid_api_key',
  'signature_mismatch',
  'date_not_valid',
  'cloud_refused',
  'cloud_unavailable',
] as const;

const ADD_ERRORS = [
  'missing_parameters',
  'unknown_product',
  'license_not_found',
  'license_not_enabled',
  'license_expired',
  'invalid_credentials',
  'blacklisted',
  'license_activated_max_times',
  'license_not_floating',
  ...CLOUD_ERRORS,
] as const;

const REMOVE_ERRORS = [
  'missing_parameters',
  'unknown_product',
  'license_not_found',
  ...CLOUD_ERRORS,
] as const;

export function productRoutes(link: CloudLink, options: ProductOptions): readonly Route[] {
  return [addByUrlRoute(link, options), addRoute(link), removeByUrlRoute(link), removeRoute(link)];
}

function addByUrlRoute(link: CloudLink, { allowKeysInUrl }: ProductOptions): Route {
  return defineRoute({
    name: 'add_product_by_url',
    methods: ['GET'],
    paths: ['/api/v4/addProduct'],
    access: 'admin',
    summary:
      'Activate a license at the licensing cloud and add it; better with POST, which keeps it out of URLs',
    query: addProductQuery,
    answer: { kind: 'json', schema: licenseObject },
    errors: ['keys_in_url_not_allowed', ...ADD_ERRORS],
    handle: ({ query, caller }) => {
      if (!allowKeysInUrl && typeof query.password === 'string') {
        throw new RequestError(
          'keys_in_url_not_allowed',
          'This server takes no password in a URL. Send it in the body of a POST.',
        );
      }
      return add(link, { ...query, license_key: query.licenseKey ?? query.license_key }, caller);
    },
  });
}

function addRoute(link: CloudLink): Route {
  return defineRoute({
    name: 'add_product',
    methods: ['POST'],
    paths: ['/api/v4/addProduct'],
    access: 'admin',
    summary: 'Activate a license at the licensing cloud and add it, or refresh it where it is known',
    body: addProductRequest,
    answer: { kind: 'json', schema: licenseObject },
    errors: ADD_ERRORS,
    handle: ({ body, caller }) => add(link, body, caller),
  });
}

async function add(
  link: CloudLink,
  { product, license_key, username, password }: z.output<typeof addProductRequest>,
  caller: Caller,
): Promise<Reply> {
  const request = {
    product: product ?? null,
    licenseKey: license_key ?? null,
    username: username ?? null,
    password: password ?? null,
  };
  const record = await link.add(request, actorOf(caller));
  return jsonText(presentLicense({ ...record, registration: null }));
}

function removeByUrlRoute(link: CloudLink): Route {
  return defineRoute({
    name: 'remove_product_by_url',
    methods: ['GET'],
    paths: ['/api/v4/removeProduct'],
    access: 'admin',
    summary: 'Deactivate a license at the licensing cloud and remove it',
    query: removeProductQuery,
    answer: { kind: 'json', schema: removeProductAnswer },
    errors: REMOVE_ERRORS,
    handle: ({ query, caller }) =>
      remove(link, { ...query, license_key: query.licenseKey ?? query.license_key }, caller),
  });
}

function removeRoute(link: CloudLink): Route {
  return defineRoute({
    name: 'remove_product',
    methods: ['POST'],
    paths: ['/api/v4/removeProduct'],
    access: 'admin',
    summary: 'Deactivate a license at the licensing cloud and remove it',
    body: removeProductRequest,
    answer: { kind: 'json', schema: removeProductAnswer },
    errors: REMOVE_ERRORS,
    handle: ({ body, caller }) => remove(link, body, caller),
  });
}

async function remove(
  link: CloudLink,
  { product, license_id, license_key }: z.output<typeof removeProductRequest>,
  caller: Caller,
): Promise<Reply> {
  const request = {
    product: product ?? null,
    licenseId: license_id === undefined ? null : licenseId(license_id),
    licenseKey: license_key ?? null,
  };
  const removed = await link.remove(request, false, actorOf(caller));
  return json({ license_id: removed.id, product: removed.product });
}
