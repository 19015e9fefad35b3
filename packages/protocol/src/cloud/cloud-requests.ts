import { z } from 'zod';
import { hostText, licenseId, name, userInfo } from '../fields.ts';

/** The license and the machine of a request: a key, or a user with a password. */
const identification = {
  hardware_id: name,
  product: name,
  license_key: name,
  username: name,
  password: z.string().max(1024).optional(),
  license_id: licenseId,
};

const host = {
  hostname: hostText,
  os_ver: hostText,
  ip: hostText,
  ip_local: hostText,
  app_ver: hostText,
  sdk_ver: hostText,
  user_info: userInfo,
};

export const activateRequest = z.object({ ...identification, ...host });
export const checkQuery = z.object({ ...identification, ...host });
export const deactivateRequest = z.object(identification);
export const productQuery = z.object({ product: name });

/** Says that a floating server has already counted the amount and reports it afterwards. */
export const SYNC_EVENT = 'offline_floating_consumptions_sync';

/** The answer to a successful deactivation, as bare text. */
export const DEACTIVATED_TEXT = 'license_deactivated';

/** The same as JSON, for requests with a nonce. */
export const deactivatedAnswer = z.object({ code: z.literal(DEACTIVATED_TEXT) });
