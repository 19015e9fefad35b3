import { z } from 'zod';
import { described, licenseId, licenseKey, NAME_JSON, name } from '../fields.ts';

/** A whole file as text, limited only by the size of the body. */
const fileText = z
  .string({ error: 'must be text' })
  .nullish()
  .transform((text) => (text === null || text?.trim() === '' ? undefined : text));

/** Codes may be typed in any groups and lines; see `typed-code.ts`. */
const code = z
  .preprocess((value) => (typeof value === 'string' ? value.replace(/[\t-\r]+/g, ' ').trim() : value), name)
  .meta({ type: 'string', pattern: '^\\s*[^\\x00- \\x7f-\\x9f][^\\x00-\\x08\\x0e-\\x1f\\x7f-\\x9f]*$' });

const policyId = name.transform((text) => text?.trim());

const REQUESTS = ['activation', 'deactivation'] as const;

export const generateRequest = z
  .object({
    product: described(name, 'The product code of the license to request or return.'),
    license_key: licenseKey,
    username: described(name, 'The user whose license it is.'),
    license_id: described(licenseId, 'The id of the license to return.'),
    request: z
      .preprocess(
        (value) => (value === null || value === '' ? undefined : value),
        z.enum(REQUESTS, { error: 'must be "activation" or "deactivation"' }).optional(),
      )
      .meta({
        type: 'string',
        enum: REQUESTS,
        description: 'Whether to request a license, which is the default, or to return one.',
      }),
  })
  .meta({ examples: [{}, { product: 'cad', license_key: 'AAAA-BBBB-CCCC-DDDD' }] });

const hardwareId = described(z.string(), 'The hardware id of this server.');
const ok = described(z.literal('ok'), 'Always "ok".');

export const generateAnswer = z
  .object({
    status: ok,
    request_id: described(z.string(), 'The id of the request, which the license file repeats.'),
    request_data: described(z.string(), 'The file, which is base64.'),
    file_name: described(z.string(), 'A name for the file.'),
    hardware_id: hardwareId,
    identity_key: described(z.string(), "The fingerprint of this server's own key."),
    signed_by: described(z.enum(['cloud-keys', 'server']), 'The key that the file is signed with.'),
  })
  .meta({
    id: 'RequestFile',
    description: 'A file that requests a license from the vendor, or returns one.',
  });

export const airgapGenerateRequest = z
  .object({ license_key: licenseKey, signing_key: described(code, "The vendor's initialization code.") })
  .meta({
    required: ['license_key', 'signing_key'],
    examples: [
      { license_key: 'AAAA-BBBB-CCCC-DDDD', signing_key: 'nmSYO3EaxHPkGZ4J3xKmVd2pW0a1tVE6uGfbmxD8EHc=' },
    ],
  });

export const airgapGenerateAnswer = z
  .object({
    status: ok,
    activation_code: described(z.string(), "The code for the vendor's portal."),
    hardware_id: hardwareId,
    license_key: described(z.string(), 'The license key.'),
    grant_key: described(z.string(), "The public key of this server's grants, for the vendor to certify."),
  })
  .meta({ id: 'ActivationCode', description: "This server's activation code for a license key." });

/** The policy id is text here, and may be sent as a number. */
export const airgapLicenseRequest = z
  .object({
    license_policy: described(fileText, 'The policy file, which is base64.'),
    license_key: licenseKey,
    policy_id: z
      .preprocess((value) => (typeof value === 'number' ? String(value) : value), policyId)
      .meta({
        ...NAME_JSON,
        type: ['string', 'number'],
        description: 'The policy id, as text or number.',
      }),
    confirmation_code: described(code, 'The confirmation code, in any form.'),
  })
  .meta({
    required: ['license_policy', 'license_key', 'policy_id', 'confirmation_code'],
    examples: [
      {
        license_policy: 'eyJpZCI6IDF9',
        license_key: 'AAAA-BBBB-CCCC-DDDD',
        policy_id: '1',
        confirmation_code: 'bWlzc2luZw==',
      },
    ],
  });

export const usageAnswer = z
  .object({
    usage_data: described(z.string(), 'The file, which is base64.'),
    file_name: described(z.string(), 'A name for the file.'),
    sequence: described(z.int(), 'The number of the file; the vendor accepts no lower one after it.'),
  })
  .meta({ id: 'UsageFile', description: 'A file for the vendor with the consumption.' });
