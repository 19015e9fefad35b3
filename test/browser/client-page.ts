import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import type { OkpJwk } from '@berth/protocol/grant/jws';
import { writeCertificate } from '@berth/protocol/grant/server-certificate';
import { build } from 'esbuild';
import type * as Client from '../../packages/client/src/web.ts';
import { DEMO_LICENSE } from '../../packages/server/src/core/nouns/demo-license.ts';
import { BerthApi } from '../support/berth-api.ts';
import { certifiedLicense } from '../support/certified-license.ts';
import { type Owner, rsaKeysOf } from '../support/rsa-keys.ts';

const WEB = fileURLToPath(new URL('../../packages/client/src/web.ts', import.meta.url));
const DAY_MS = 86_400_000;

/** The client package for browsers as one module, made as `npm pack` makes it. */
export async function bundleClient(): Promise<string> {
  const settings = {
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    write: false,
  } as const;
  const { outputFiles } = await build({ entryPoints: [WEB], ...settings });
  return outputFiles[0]?.text ?? '';
}

/** A vendor who certifies the server for the demo license. */
export function createVendor(owner: Owner) {
  const { privateKey, publicKey } = rsaKeysOf(owner);
  return {
    publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    async certify(url: string): Promise<void> {
      const api = new BerthApi(url);
      const { body } = await api.get('/api/admin/identity');
      const { hardware_id: hardwareId, keys } = body as unknown as Identity;
      const [{ x }] = keys;
      const key: OkpJwk = { kty: 'OKP', crv: 'Ed25519', x };
      const issuedAt = Date.now();
      const facts = {
        hardwareId,
        licenses: [certifiedLicense(DEMO_LICENSE)],
        key,
        issuedAt,
        expiresAt: issuedAt + DAY_MS,
      };
      const certificate = writeCertificate(facts, privateKey);
      const { status, text } = await api.post('/api/admin/identity/certificates', { certificate });
      assert.equal(status, 200, text);
      api.close();
    },
  };
}

interface Identity {
  readonly hardware_id: string;
  readonly keys: readonly [{ readonly x: string }];
}

/** What the application on the page knows. */
interface Application {
  readonly module: string;
  readonly server: string;
  readonly product: string;
  readonly vendorKey: string;
}

interface Window {
  slot?: Client.Slot;
}

/** Runs in the page, as all below. The slot stays with the page. */
export async function takeSlot({ module, ...options }: Application) {
  const { acquire }: typeof Client = await import(module);
  try {
    const slot = await acquire(options);
    (globalThis as Window).slot = slot;
    return { user: slot.user, proven: slot.grant?.user, error: null };
  } catch (error) {
    const { code, message } = error as Client.BerthError;
    return { user: null, proven: null, error: { code, message } };
  }
}

export function readSlot() {
  const { slot } = globalThis as Window;
  return { isHeld: slot?.isHeld, issuedAt: slot?.grant?.issued_at };
}

export async function borrowSlot({ module, ...options }: Application) {
  const { connect }: typeof Client = await import(module);
  const { user, until } = await connect(options).borrow({ until: '2h' });
  return { user, until: until.toISOString() };
}

/** Resumes it without the server, and gives it back with it. */
export async function resumeSlot({ module, ...options }: Application) {
  const { connect }: typeof Client = await import(module);
  const away = await connect({ ...options, server: 'http://127.0.0.1:9' }).resume();
  const found = { user: away.user, until: away.until.toISOString() };
  const { isValid, grant } = away;
  await (await connect(options).resume()).giveBack();
  return { found, isValid, isBorrowed: grant?.borrowed };
}
