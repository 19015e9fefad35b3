import { createPublicKey, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { createApp } from '@berth/cloud/http/app';
import { type DataFolder, openDataFolder } from '@berth/cloud/store/data-folder';
import { createKey } from '@berth/cloud/store/keys/keys';
import { createLicense, type LicenseDraft } from '@berth/cloud/store/licenses';
import { createProduct, findProduct } from '@berth/cloud/store/products';
import { authorizationHeader, type CloudKeys } from '@berth/protocol/cloud/cloud-authorization';
import { fetchFrom } from '../fetch-app.ts';
import { rsaKeysOf } from '../rsa-keys.ts';

/** Smaller than the key that a cloud makes for itself. */
const { privateKey } = rsaKeysOf('cloud');

/** 2026-06-15 12:00 UTC, a Monday. */
export const START = Date.UTC(2026, 5, 15, 12);

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly bytes: Uint8Array;
  readonly headers: Headers;
  /** `{}` if the response is not JSON. */
  readonly body: Record<string, never>;
}

type Fields = Readonly<Record<string, unknown>>;

export interface TestCloud {
  readonly folder: DataFolder;
  readonly path: string;
  readonly publicKey: KeyObject;
  readonly keys: CloudKeys;
  readonly log: string[];
  now: number;
  /** Grants a license, by default of the product "cad", and returns its key. */
  grant(terms?: LicenseDraft['terms'], draft?: Partial<LicenseDraft>): string;
  /** `POST` with a body, or `GET` with a query; signed with the keys unless `headers` replaces that. */
  post(operation: string, fields: Fields, headers?: Record<string, string>): Promise<Answer>;
  get(operation: string, fields: Fields, headers?: Record<string, string>): Promise<Answer>;
  /** Sends a request, optionally from a client network. */
  send(path: string, init: RequestInit, place?: string): Promise<Answer>;
}

/** A data folder with an existing signing key, removed after the test. */
export function cloudFolder(t: { after(work: () => unknown): void }): string {
  const path = mkdtempSync(join(tmpdir(), 'berth-cloud-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  writeSigningKey(path);
  return path;
}

/** Saves a new data folder the time to generate its key. */
export function writeSigningKey(path: string): void {
  const file = join(path, 'signing-key.pem');
  writeFileSync(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
}

/** A cloud with a real database, without a socket, and with a manual clock. */
export function createTestCloud(t: Pick<TestContext, 'after'>): TestCloud {
  const path = cloudFolder(t);
  const folder = openDataFolder(path);
  t.after(() => folder.close());
  const keys = createKey(folder.store, 'test', START) as CloudKeys;
  const log: string[] = [];
  const clock = { readWallMs: () => cloud.now, readMonotonicMs: () => 0 };
  const writer = { write: (...line: unknown[]) => void log.push(JSON.stringify(line)) };
  const app = createApp({ ...folder, clock, log: writer });
  const signed = () => signedHeaders(keys, cloud.now);
  const send = async (target: string, init: RequestInit, place = '') =>
    readAnswer(
      await fetchFrom(app, new Request(new URL(target, 'http://cloud'), init), {
        address: place,
        isControl: false,
      }),
    );
  const cloud: TestCloud = {
    folder,
    path,
    publicKey: createPublicKey(privateKey),
    keys,
    log,
    now: START,
    grant: (terms = {}, draft = {}) => grantLicense(folder, terms, draft),
    post: (operation, fields, headers = signed()) =>
      send(`/api/v4/${operation}`, { method: 'POST', headers, body: JSON.stringify(fields) }),
    get: (operation, fields, headers = signed()) =>
      send(`/api/v4/${operation}?${new URLSearchParams(fields as Record<string, string>)}`, { headers }),
    send,
  };
  return cloud;
}

export function signedHeaders(keys: CloudKeys, now: number): Record<string, string> {
  const date = new Date(now).toUTCString();
  return { Date: date, Authorization: authorizationHeader(keys, date) };
}

async function readAnswer(response: Response): Promise<Answer> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  const text = Buffer.from(bytes).toString();
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  return {
    status: response.status,
    text,
    bytes,
    headers: response.headers,
    body: isJson ? JSON.parse(text) : {},
  };
}

function grantLicense(
  { store }: DataFolder,
  terms: LicenseDraft['terms'],
  draft: Partial<LicenseDraft>,
): string {
  const { product: code = 'cad', user = null } = draft;
  const authorizationMethod = user === null ? 'license-key' : 'user';
  if (findProduct(store, code) === null)
    createProduct(store, { code, name: null, authorizationMethod }, START);
  const license = createLicense(store, { product: code, key: null, user, terms, ...draft }, START);
  if ('code' in license) throw new Error(license.message);
  return license.key;
}
