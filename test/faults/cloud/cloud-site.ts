import assert from 'node:assert/strict';
import { type ChaosProxy, openChaosProxy } from '../../support/chaos/chaos-proxy.ts';
import type { CloudFacts } from '../../support/cloud/cloud-app.ts';
import type { CloudProcess } from '../../support/cloud/cloud-process.ts';
import { pollUntil } from '../../support/poll.ts';
import { seedLicenses } from '../../support/server-process.ts';
import { ServerUnderTest } from '../../support/server-under-test.ts';

interface TestLife {
  after(work: () => Promise<void>): void;
}

interface SiteOptions {
  /** How long an exchange with the cloud may take; by default, longer than one does on a busy machine. */
  readonly timeoutSeconds?: number;
  /** The server asks the cloud itself, with nothing in between. */
  readonly isDirect?: boolean;
  /** The server runs in this process, and cannot be killed. */
  readonly isHere?: boolean;
}

interface Amounts {
  readonly total: number;
  readonly exports: number;
}

/** A company with a real server, and its way to a real cloud, which a test can break. */
export class Site {
  readonly cloud: CloudProcess;
  readonly proxy: ChaosProxy;
  readonly server: ServerUnderTest;
  /** Everything that was counted here so far. */
  #counted: Amounts = { total: 0, exports: 0 };
  #key = '';

  private constructor(cloud: CloudProcess, proxy: ChaosProxy, server: ServerUnderTest) {
    this.cloud = cloud;
    this.proxy = proxy;
    this.server = server;
  }

  static async open(t: TestLife, cloud: CloudProcess, options: SiteOptions = {}): Promise<Site> {
    const proxy = await openChaosProxy({ target: cloud.url });
    t.after(() => proxy.close());
    const { timeoutSeconds = 5, isDirect = false, isHere = false } = options;
    const args = [
      ...['--cloud-url', isDirect ? cloud.url : proxy.url, '--cloud-public-key', cloud.publicKeyFile],
      ...['--cloud-timeout-seconds', `${timeoutSeconds}`],
      ...['--cloud-report-seconds', '1'],
    ];
    const site = new Site(cloud, proxy, ServerUnderTest.make(t, undefined, { args, isHere }));
    await seedLicenses(site.server.data);
    await site.server.start();
    return site;
  }

  async setKeys(keys: CloudProcess['keys'] = this.cloud.keys): Promise<void> {
    const { status, text } = await this.server.api.post('/api/v4/setKeys', { ...keys });
    assert.equal(status, 200, text);
  }

  async addLicense(): Promise<void> {
    const feature = ['--feature', 'export,consumptions=unlimited'];
    this.#key = await this.cloud.grant('cad', '--slots', '5', '--unlimited-consumptions', ...feature);
    const request = { product: 'cad', license_key: this.#key };
    const { status, text } = await this.server.api.post('/api/v4/addProduct', request);
    assert.equal(status, 200, text);
  }

  /** Slots are lent and renewed, and consumption is counted. */
  async use({ total, exports }: Amounts): Promise<void> {
    const { api } = this.server;
    const user = { product: 'cad', user: 'jane@example.com' };
    const feature = { product: 'cad', feature: 'export', consumptions: exports };
    const answers = [
      await api.register(user),
      await api.register(user),
      await api.post('/api/v4/add_consumption', { product: 'cad', consumptions: total }),
      await api.post('/api/v4/add_feature_consumption', feature),
    ];
    for (const { status, text } of answers) assert.equal(status, 200, text);
    const { total: sofar, exports: exported } = this.#counted;
    this.#counted = { total: sofar + total, exports: exported + exports };
  }

  async cloudFacts(): Promise<CloudFacts> {
    return (await this.server.api.get('/api/admin/status')).body.cloud as CloudFacts;
  }

  /** The cloud is tried in the background, which may take a few rounds. */
  waitForState(state: string): Promise<CloudFacts> {
    const look = async () => {
      const facts = await this.cloudFacts();
      return facts.state === state ? facts : undefined;
    };
    return pollUntil(`the cloud is ${state}`, look);
  }

  /** Everything is told by itself, and the vendor has counted exactly that. */
  async assertTold(): Promise<void> {
    const look = async () => {
      const { pending, reports_under_way: underWay } = await this.cloudFacts();
      return pending === 0 && underWay === 0 ? true : undefined;
    };
    await pollUntil('everything is told', look);
    await this.assertExact();
    assert.equal((await this.cloudFacts()).reports_uncertain, 0);
  }

  async assertExact(): Promise<void> {
    const { total_consumptions: total, features } = await this.cloud.showLicense(this.#key);
    assert.deepEqual({ total, exports: features[0]?.total_consumptions }, this.#counted);
  }
}
