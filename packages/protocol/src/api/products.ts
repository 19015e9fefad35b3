import { z } from 'zod';
import { described, licenseId, licenseKey, name, product } from '../fields.ts';

/** Kept exactly as typed: a password may begin or end with a blank. */
const password = described(
  z.string({ error: 'must be text' }).max(1024, { error: 'is too long' }).nullish(),
  "The user's password at the licensing cloud.",
);

/** Adds a license by its key, or by the user it was issued to. */
export const addProductRequest = z
  .object({
    product: described(name, 'The product code.'),
    license_key: licenseKey,
    username: described(name, 'The user that the license was issued to, where it has no key.'),
    password,
  })
  .meta({
    required: ['product'],
    not: { required: ['license_key', 'username'] },
    description: 'Send `product`, and the license key or a user and a password.',
    examples: [{ product: 'cad', license_key: 'AAAA-BBBB-CCCC-DDDD' }],
  });

export const removeProductRequest = z
  .object({ product, license_id: licenseId, license_key: licenseKey })
  .meta({ examples: [{ product: 'cad', license_key: 'AAAA-BBBB-CCCC-DDDD' }] });

export const removeProductAnswer = z
  .object({
    license_id: described(z.int(), 'The id that the license had.'),
    product: described(z.string(), 'Its product code.'),
  })
  .meta({ id: 'RemovedLicense', description: 'The license that was removed.' });
