import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { WireAnswer, WireRequest } from '../../../packages/client/src/environment.ts';
import { type Owner, rsaKeysOf } from '../../support/rsa-keys.ts';
import type { World } from '../simulation/world.ts';

const START_MS = Date.UTC(2030, 0, 15, 12);
const TIMEOUT_MS = 600_000;
const DAY_MS = 86_400_000;

/** The public id of its store. */
export const STORE_ID = 'store-of-the-certified-server'.padEnd(43, '-');
/** The license that it has, as the vendor has granted it. */
const LICENSE = {
  ...{ license_id: 7, product: 'cad', ends_at: null },
  limits: {
    ...{ floating_users: 5, floating_timeout: TIMEOUT_MS / 60_000, max_borrow_time: 24 },
    ...{ validity_period: null, max_consumptions: 100, allow_unlimited_consumptions: false },
  },
  features: [
    {
      ...{ code: 'render', floating_users: 2, max_consumptions: 10, allow_unlimited_consumptions: false },
      expiry_date: '2031-01-01T00:00:00Z',
    },
  ],
};

interface Vendor {
  readonly pem: string;
  readonly privateKey: KeyObject;
}

export function createVendor(owner: Owner): Vendor {
  const { publicKey, privateKey } = rsaKeysOf(owner);
  return { pem: publicKey.export({ type: 'spki', format: 'pem' }).toString(), privateKey };
}

/** Lends to everybody, and signs it. */
export class CertifiedServer {
  /** What it claims in grants and certificates instead of the truth. */
  lies: { readonly grant?: object; readonly certificate?: object; readonly license?: object } = {};
  /** What it leaves out. */
  hides: readonly ('grant' | 'certificate')[] = [];
  vendor: Vendor;
  /** Whose certificates it sends, too. */
  otherVendors: readonly Vendor[] = [];
  isAway = false;
  heartbeats = 0;
  lastPath = '';
  grants = 0;
  readonly #world: World;
  #keys = generateKeyPairSync('ed25519');

  constructor(world: World, vendor: Vendor) {
    this.#world = world;
    this.vendor = vendor;
  }

  /** Another server, which only claims to be this one. */
  becomeFake(): void {
    this.vendor = createVendor('stranger');
    this.#keys = generateKeyPairSync('ed25519');
  }

  answer({ url, body, method }: WireRequest): WireAnswer {
    const date = this.#at(0);
    if (method === 'GET')
      return { status: 200, text: JSON.stringify({ keys: [], store_id: STORE_ID }), date };
    const request = JSON.parse(body) as Record<string, string>;
    this.lastPath = url.slice(url.lastIndexOf('/') + 1);
    if (this.lastPath === 'unregister') return { status: 200, text: 'user_unregistered', date: null };
    const isBorrow = this.lastPath === 'borrow';
    const lastsMs = isBorrow ? DAY_MS : TIMEOUT_MS;
    const slot_ends_in_seconds = lastsMs / 1000;
    const borrow = { is_borrowed: isBorrow, borrowed_until: isBorrow ? this.#at(lastsMs) : null };
    const lease = { license_id: 7, slot_ends_in_seconds, renew_in_seconds: TIMEOUT_MS / 3000 };
    this.heartbeats += 1;
    const proof = request.nonce === undefined ? {} : this.#prove(request, lastsMs);
    return { status: 200, text: JSON.stringify({ ...lease, ...borrow, ...proof }), date: null };
  }

  #prove(request: Record<string, string | null>, lastsMs: number): object {
    const { product, user, feature = null, nonce, device_mark = null } = request;
    this.grants += 1;
    const { license_id, limits, features } = LICENSE;
    const claims = {
      ...{ license_id, product, user, feature, nonce, limits, features, device_mark, hardware_id: 'machine' },
      ...{ borrowed: lastsMs === DAY_MS, issued_at: this.#at(0), valid_until: this.#at(lastsMs) },
      ...this.lies.grant,
    };
    const jwk = this.#keys.publicKey.export({ format: 'jwk' });
    const server = {
      ...{ hardware_id: 'machine', cnf: { jwk }, expires_at: this.#at(90 * DAY_MS) },
      licenses: [{ license_id: 6 }, { ...LICENSE, ...this.lies.license }],
      ...this.lies.certificate,
    };
    const grant = writeSigned({ alg: 'EdDSA', typ: 'berth-grant+jwt' }, claims, this.#keys.privateKey);
    const certify = (vendor: Vendor) =>
      writeSigned({ alg: 'RS256', typ: 'berth-server+jwt' }, server, vendor.privateKey);
    const others = this.otherVendors.map(certify);
    const more = others.length === 0 ? {} : { other_certificates: others };
    const proof = { grant, certificate: certify(this.vendor), ...more };
    return Object.fromEntries(
      Object.entries(proof).filter(([name]) => !this.hides.includes(name as 'grant')),
    );
  }

  #at(inMs: number): string {
    return new Date(START_MS + Math.trunc(this.#world.nowMs) + inMs).toISOString();
  }
}

function writeSigned(header: { alg: string; typ: string }, claims: object, key: KeyObject): string {
  const parts = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  const text = parts.join('.');
  const signature = sign(header.alg === 'RS256' ? 'sha256' : null, Buffer.from(text), key);
  return `${text}.${signature.toString('base64url')}`;
}
