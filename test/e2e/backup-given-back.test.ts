import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { writeAirgapPublicKey } from '@berth/protocol/carried/airgap-codes';
import { restore, saveBackup } from '../support/backups.ts';
import { BerthApi } from '../support/berth-api.ts';
import { TEST_VENDOR as vendor } from '../support/cloud/test-vendor.ts';
import { startServerHere } from '../support/server-here.ts';
import { temporaryFolder } from '../support/server-process.ts';
import { describeStores } from '../support/stores/test-stores.ts';

const HARDWARE_ID = 'test-machine';
const LICENSE_KEY = 'AAAA-BBBB-CCCC-DDDD';

/** A server without a cloud, whose data is backed up and restored. */
class Site {
  readonly #folder: string;
  readonly #args: readonly string[];
  #server: Awaited<ReturnType<typeof startServerHere>> | null = null;
  #api: BerthApi | null = null;

  private constructor(folder: string) {
    this.#folder = folder;
    const vendorKey = join(folder, 'vendor.pem');
    writeFileSync(vendorKey, vendor.publicKey.export({ type: 'spki', format: 'pem' }));
    const airgapKey = writeAirgapPublicKey(vendor.airgapKey);
    const keys = ['--cloud-public-key', vendorKey, '--airgap-public-key', airgapKey];
    this.#args = [...keys, '--hardware-id', HARDWARE_ID];
  }

  static async start(t: TestContext): Promise<Site> {
    const site = new Site(temporaryFolder(t));
    t.after(() => site.#stop());
    await site.#start();
    return site;
  }

  async #start(): Promise<void> {
    this.#server = await startServerHere({ data: this.#data, args: this.#args });
    this.#api = new BerthApi(this.#server.url);
  }

  async #stop(): Promise<void> {
    this.#api?.close();
    await this.#server?.stop();
  }

  get #data(): string {
    return join(this.#folder, 'data');
  }

  get #url(): string {
    return this.#server?.url ?? '';
  }

  get api(): BerthApi {
    return this.#api as BerthApi;
  }

  async backUp(name: string): Promise<void> {
    await saveBackup(this.#url, join(this.#folder, name));
  }

  /** Returns what the backup would have brought back. */
  async restore(name: string): Promise<readonly number[]> {
    await this.#stop();
    const { given_back } = await restore(this.#data, join(this.#folder, name));
    await this.#start();
    return given_back.map(({ license_id: id }) => id);
  }

  async request(body: object = {}): Promise<string> {
    const answer = await this.api.post('/api/v4/license/generate', { ...body });
    assert.equal(answer.status, 200, answer.text);
    return answer.body.request_data as string;
  }

  giveBack(): Promise<string> {
    return this.request({ request: 'deactivation', license_key: LICENSE_KEY });
  }

  /** 200, or the reason for the refusal. */
  async upload(file: string): Promise<unknown> {
    const answer = await fetch(`${this.#url}/api/v4/license/upload`, { method: 'POST', body: file });
    return outcomeOf({ status: answer.status, body: (await answer.json()) as { code?: unknown } });
  }

  async confirm(confirmation_code: string, license_policy: string): Promise<unknown> {
    const policy = { license_key: LICENSE_KEY, policy_id: '4711', confirmation_code, license_policy };
    return outcomeOf(await this.api.post('/api/v4/airgap/license', policy));
  }

  async register(user: string): Promise<unknown> {
    return outcomeOf(await this.api.register({ product: 'cad', user }));
  }
}

function outcomeOf({
  status,
  body,
}: {
  readonly status: number;
  readonly body: { readonly code?: unknown };
}) {
  return status === 200 ? 200 : body.code;
}

describeStores('a license that was given back after a backup', () => {
  test('in a file does not lend after the restore, nor after a restore of what was before it', async (t) => {
    const site = await Site.start(t);
    const request = await site.request();
    await site.backUp('requested');
    const file = vendor.answer(request);
    assert.equal(await site.upload(file), 200);
    await site.backUp('installed');
    await site.giveBack();
    assert.deepEqual(await site.restore('installed'), [4711]);
    assert.equal(await site.register('ada'), 'unknown_product');
    assert.equal(await site.upload(file), 'offline_request_used');
    assert.deepEqual(await site.restore('requested'), []);
    assert.equal(await site.upload(file), 'offline_request_used', 'a request that was open again');
    assert.deepEqual(await site.restore('installed'), [4711], 'what was restored before remembers it');
    assert.equal(await site.register('ada'), 'unknown_product');

    const fresh = vendor.answer(await site.request(), { date: '2030-03-01T00:00:00Z' });
    assert.equal(await site.upload(fresh), 200);
    await site.backUp('again');
    assert.deepEqual(await site.restore('again'), []);
    assert.equal(await site.register('ada'), 200, 'the vendor has granted it again');
    assert.equal((await site.api.verifyAudit()).ok, true);
  });
});

describe('a license that was given back by a typed code after a backup', () => {
  test('does not lend after the restore, and its code stays void', async (t) => {
    const site = await Site.start(t);
    const code = vendor.confirm(HARDWARE_ID, LICENSE_KEY, '4711');
    assert.equal(await site.confirm(code, vendor.policy()), 200);
    await site.backUp('installed');
    assert.equal((await site.api.get('/api/v4/removeProduct?product=cad')).status, 200);
    await site.giveBack();
    assert.equal(await site.confirm(code, vendor.policy()), 'airgap_confirmation_invalid', 'before it');
    assert.deepEqual(await site.restore('installed'), [4711]);
    assert.equal(await site.register('ada'), 'unknown_product');
    assert.equal(await site.confirm(code, vendor.policy()), 'airgap_confirmation_invalid');
  });
});
