import { z } from 'zod';
import { licenseId, name } from './fields.ts';

/** Kept exactly as it is typed: a password may begin or end with a blank. */
const password = z.string({ error: 'must be text' }).max(1024, { error: 'is too long' }).nullish();

const holder = { product: name, license_key: name, username: name, password };

/** Adds a license: by its key, or by the user that it was issued to. */
export const addProductRequest = z.object(holder);

/** In a URL the key has the name that clients are used to; the name of the body is taken too. */
export const addProductQuery = z.object({ ...holder, licenseKey: name });

export const removeProductRequest = z.object({ product: name, license_id: licenseId, license_key: name });
export const removeProductQuery = removeProductRequest.extend({ licenseKey: name, licenseId });

export const removeProductAnswer = z.object({ license_id: z.int(), product: z.string() });
