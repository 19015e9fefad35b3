import { RequestError } from '@berth/protocol/request-error';
import type { Identity, KeyProof, UserProof } from '../core/command.ts';
import type { HostFacts } from '../core/license.ts';
import type { CloudStore } from '../store/cloud-store.ts';
import { findPasswordHash } from '../store/licenses.ts';
import { isPassword } from '../store/passwords.ts';
import type { Identification } from './requests.ts';

type Fields = Pick<
  Identification,
  'hardware_id' | 'product' | 'license_key' | 'username' | 'password' | 'license_id'
>;

/** Reads which license the caller wants and its proof. Checks the password before any decision. */
export async function readIdentity(
  store: CloudStore,
  fields: Fields,
  customer: string | null,
  needsPassword: boolean,
): Promise<Identity> {
  const { license_id, ...rest } = fields;
  const product = requireField('product', rest.product);
  const hardwareId = requireField('hardware_id', rest.hardware_id);
  const proof = await readProof(store, { ...rest, product }, customer, needsPassword);
  return { product, hardwareId, licenseId: license_id ?? null, proof };
}

function requireField(name: string, value: string | undefined): string {
  if (value !== undefined) return value;
  throw new RequestError('missing_parameters', `"${name}" is missing.`, { field: name });
}

async function readProof(
  store: CloudStore,
  { product, license_key: key, username, password }: Fields & { readonly product: string },
  customer: string | null,
  needsPassword: boolean,
): Promise<KeyProof | UserProof> {
  if (key !== undefined) return { kind: 'key', key };
  const name = requireField('license_key', username);
  if (password === undefined || password === '') {
    if (needsPassword) requireField('password', undefined);
    return { kind: 'user', name, password: 'none' };
  }
  const hash = findPasswordHash(store, product, name, customer);
  const fits = await isPassword(password, hash);
  return { kind: 'user', name, password: fits && hash !== null ? { fits: hash } : 'wrong' };
}

export function readHost(fields: Identification): HostFacts {
  return {
    hostname: fields.hostname ?? null,
    ip: fields.ip ?? null,
    localIp: fields.ip_local ?? null,
    osVersion: fields.os_ver ?? null,
    appVersion: fields.app_ver ?? null,
    sdkVersion: fields.sdk_ver ?? null,
    info: fields.user_info ?? null,
  };
}
