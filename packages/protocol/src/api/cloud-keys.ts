import { z } from 'zod';
import { described, secret } from '../fields.ts';

/** The two keys that the vendor gave. */
export const setKeysRequest = z
  .object({
    api_key: described(secret, "The vendor's API key for the licensing cloud."),
    shared_key: described(secret, "The vendor's shared key for the licensing cloud."),
  })
  .meta({
    description: 'Send one of the keys, or both.',
    examples: [{ api_key: 'an-api-key', shared_key: 'a-shared-key' }],
  });

const fingerprint = z.string().nullable();

const fingerprints = {
  api_key_fingerprint: described(fingerprint, 'Identifies the API key; null: none is set.'),
  shared_key_fingerprint: described(fingerprint, 'Identifies the shared key; null: none is set.'),
};

/** Fingerprints of the keys. */
export const cloudKeysObject = z
  .object(fingerprints)
  .meta({ id: 'CloudKeys', description: 'Which keys for the licensing cloud are set.' });

export const setKeysAnswer = cloudKeysObject
  .extend({
    changed: described(z.array(z.enum(['api_key', 'shared_key'])), 'Which of them have changed.'),
  })
  .meta({ id: 'ChangedKeys', extends: 'CloudKeys', description: 'Which keys are set, and which are new.' });
