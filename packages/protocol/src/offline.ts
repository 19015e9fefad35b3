import { z } from 'zod';
import { licenseId, name } from './fields.ts';

/** A whole file as text: no bound of its own below that of a body. */
const fileText = z
  .string({ error: 'must be text' })
  .nullish()
  .transform((text) => (text === null || text?.trim() === '' ? undefined : text));

/** Codes are typed by people, in groups and lines as they like; see `typed-code.ts`. */
const code = z.preprocess(
  (value) => (typeof value === 'string' ? value.replace(/[\t\r\n]+/g, ' ').trim() : value),
  name,
);

export const generateRequest = z.object({
  product: name,
  license_key: name,
  username: name,
  license_id: licenseId,
  request: z.preprocess(
    (value) => (value === null || value === '' ? undefined : value),
    z.enum(['activation', 'deactivation'], { error: 'must be "activation" or "deactivation"' }).optional(),
  ),
});

export const generateAnswer = z.object({
  status: z.literal('ok'),
  request_id: z.string(),
  request_data: z.string().meta({ description: 'the file, which is base64' }),
  file_name: z.string(),
  hardware_id: z.string(),
  identity_key: z.string().meta({ description: "the fingerprint of this server's own key" }),
  signed_by: z.enum(['cloud-keys', 'server']),
});

export const airgapGenerateRequest = z.object({
  license_key: name,
  signing_key: code.meta({ description: "the vendor's initialization code" }),
});

export const airgapGenerateAnswer = z.object({
  status: z.literal('ok'),
  activation_code: z.string(),
  hardware_id: z.string(),
  license_key: z.string(),
});

/** The policy id is text here, and may be sent as a number. */
export const airgapLicenseRequest = z.object({
  license_policy: fileText,
  license_key: name,
  policy_id: z.preprocess((value) => (typeof value === 'number' ? String(value) : value), code),
  confirmation_code: code,
});

export const usageAnswer = z.object({
  usage_data: z.string().meta({ description: 'the file, which is base64' }),
  file_name: z.string(),
  sequence: z.int(),
});
