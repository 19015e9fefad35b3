import { z } from 'zod';
import { secret } from './fields.ts';

/** The two keys that the vendor gave, in a body: `apiKey` and `sharedKey` are aliases of these. */
export const setKeysRequest = z.object({ api_key: secret, shared_key: secret });

/** The same in a URL. */
export const setKeysQuery = z.object({ apiKey: secret, sharedKey: secret });

const fingerprint = z.string().nullable().meta({ description: 'tells keys apart; `null`: none is set' });

/** Which keys are set, without showing them. */
export const cloudKeysObject = z.object({
  api_key_fingerprint: fingerprint,
  shared_key_fingerprint: fingerprint,
});

export const setKeysAnswer = cloudKeysObject.extend({
  changed: z.array(z.enum(['api_key', 'shared_key'])),
});
