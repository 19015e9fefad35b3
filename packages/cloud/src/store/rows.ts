import type { AuthorizationMethod, Device, License, Product } from '../core/license.ts';

/** Maps database columns to domain names; no other file does. */
export type Row = Readonly<Record<string, unknown>>;

export function toProduct(row: Row): Product {
  return {
    id: row.id as number,
    code: row.code as string,
    name: row.name as string,
    authorizationMethod: row.authorization_method as AuthorizationMethod,
    metadata: JSON.parse(row.metadata as string),
  };
}

export function toLicense(row: Row): License {
  return {
    id: row.id as number,
    key: row.license_key as string,
    product: toProduct({ ...row, id: row.product_id }),
    user:
      row.user_name === null
        ? null
        : { name: row.user_name as string, passwordHash: row.password_hash as string },
    customer: row.customer as string | null,
    isEnabled: row.enabled === 1,
    isActive: row.active === 1,
    transferCount: row.transfer_count as number,
    terms: JSON.parse(row.terms as string),
  };
}

export function toDevice(row: Row): Device {
  return {
    id: row.id as number,
    hardwareId: row.hardware_id as string,
    host: JSON.parse(row.host as string),
    activatedAt: row.activated_at as number,
    seenAt: row.seen_at as number,
    grantKey: row.grant_key as string | null,
    isProven: row.proven === 1,
    certifiedUntil: row.certified_until as number | null,
  };
}
