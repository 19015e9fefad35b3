import { z } from 'zod';
import { hostText, licenseId, name, userInfo, userName } from './fields.ts';
import { licenseObject } from './license-object.ts';

/**
 * Which license is meant, and for whom. Every field may be missing; see `docs/leases.md` for what then
 * counts.
 */
const target = { product: name, user: userName, license_id: licenseId };

const host = { os_hostname: hostText, ip_local: hostText, user_info: userInfo };

/**
 * Anything but text cannot be read as a date either; that is told like any other date that cannot be read.
 */
export const anyDate = z.preprocess(
  (value) => (value === null || value === undefined || typeof value === 'string' ? value : NO_DATE),
  z.string().nullish(),
);

const NO_DATE = 'not a date';

export const registerRequest = z.object({ ...target, ...host });

/**
 * The date is any text here: whether it can be read, and whether the license allows it, is one question with
 * one answer (`borrow_until_not_valid`), and it is decided after the license's own refusals.
 */
export const borrowRequest = z.object({
  ...target,
  ...host,
  borrowed_until: anyDate,
});

export const unregisterRequest = z.object({ ...target, os_hostname: hostText });

export const licenseQuery = z.object({ product: name, license_id: licenseId });

export const licensesQuery = z.object({ product: name });

/** Other spellings of a field that clients are known to send, in lower case. */
export const FIELD_ALIASES: Readonly<Record<string, string>> = {
  borrow_until: 'borrowed_until',
  allowoverages: 'allow_overages',
  maxoverages: 'max_overages',
  passwordold: 'password_old',
  passwordnew: 'password_new',
  licenseid: 'license_id',
  licensekey: 'license_key',
  signingkey: 'signing_key',
  licensepolicy: 'license_policy',
  policyid: 'policy_id',
  confirmationcode: 'confirmation_code',
  apikey: 'api_key',
  sharedkey: 'shared_key',
};

/** The answer to register and borrow: the license at top level, and once more as a text. */
export const registerAnswer = licenseObject.extend({
  license_json: z.string().meta({ description: 'the same license object, as JSON text' }),
});

export const borrowAnswer = registerAnswer;
