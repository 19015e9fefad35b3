import { RequestError } from '@berth/protocol/request-error';
import { CloudFault } from '../../../packages/server/src/cloud/cloud.ts';
import { licenseId } from '../../../packages/server/src/core/nouns/license.ts';
import type { CloudLink } from '../../../packages/server/src/services/cloud/cloud-link.ts';
import { type CloudApp, openCloudApp } from '../../support/cloud/cloud-app.ts';
import type { CloudProcess } from '../../support/cloud/cloud-process.ts';
import type { Middle } from './middle.ts';
import { FEATURE, type MeterName, PRODUCT, type Stop, type Terms } from './vendor.ts';

/** A license as a client of the server sees it. */
export interface Held {
  readonly terms: Terms;
  /** Several add up until the vendor says that the license runs. */
  readonly stops: readonly Stop[];
  readonly inUse: number;
  readonly total: number;
  readonly featureTotal: number;
}

interface Backlog {
  readonly open: number;
  /** What nobody knows about: the amounts, and the reports that they are in. */
  readonly uncertain: number;
  readonly uncertainIds: readonly string[];
}

interface WireLicense {
  readonly license_key: string;
  readonly license_enabled: boolean;
  readonly license_active: boolean;
  /** The vendor gives no license an end that lies ahead. */
  readonly validity_period: string | null;
  readonly floating_users: number;
  readonly floating_in_use: number;
  readonly max_consumptions: number;
  readonly total_consumptions: number;
  readonly metadata: { readonly version: number };
  readonly product_features: readonly { readonly total_consumptions: number }[];
}

/** A real server, without its loops, whose way to the cloud leads through the man in the middle. */
export class Site {
  readonly hardwareId: string;
  /** The licenses that it is meant to have. */
  readonly keys: readonly string[];
  readonly #app: CloudApp;
  #link: CloudLink;

  private constructor(app: CloudApp, hardwareId: string, keys: readonly string[]) {
    this.#app = app;
    this.hardwareId = hardwareId;
    this.keys = keys;
    this.#link = app.cloudLink;
  }

  static async open(
    t: { after(work: () => unknown): void },
    cloud: CloudProcess,
    middle: Middle,
    options: { readonly hardwareId: string; readonly keys: readonly string[] },
  ): Promise<Site> {
    const { hardwareId, keys } = options;
    const app = await openCloudApp(t, { vendor: cloud, hardwareId });
    app.proxy.setPlan(middle.planFor(hardwareId));
    return new Site(app, hardwareId, keys);
  }

  /** Forgets whatever the link had in its memory. */
  restart(): void {
    this.#link = this.#app.asMachine(this.hardwareId);
  }

  /** All licenses that it holds, by key. */
  async look(): Promise<ReadonlyMap<string, Held>> {
    // Time goes on a little, so that what was asked earlier can be told from what was asked later.
    this.#app.clock.advance(1);
    const { body, status } = await this.#app.get(`/api/v4/licenses?product=${PRODUCT}`);
    if (status !== 200) return new Map();
    const licenses = body as unknown as readonly WireLicense[];
    return new Map(licenses.map((license) => [license.license_key, readHeld(license)]));
  }

  async readBacklog(id: number, meter: MeterName): Promise<Backlog> {
    const records = await this.#app.store.read({ kind: 'list_backlog' });
    const record = records.find(({ licenseId: of, feature }) => of === id && feature === meter);
    const uncertain = record?.uncertain ?? [];
    return {
      open: (record?.pending ?? 0) + (record?.underWay?.amount ?? 0),
      uncertain: uncertain.reduce((sum, { amount }) => sum + amount, 0),
      uncertainIds: uncertain.map(({ id: reportId }) => reportId),
    };
  }

  count(id: number, meter: MeterName, amount: number) {
    const path = meter === null ? 'add_consumption' : 'add_feature_consumption';
    const feature = meter === null ? {} : { feature: FEATURE };
    return this.#app.post(`/api/v4/${path}`, { license_id: id, ...feature, consumptions: amount });
  }

  register(id: number, user: string) {
    return this.#app.post('/api/v4/register', { license_id: id, user });
  }

  unregister(id: number, user: string) {
    return this.#app.post('/api/v4/unregister', { license_id: id, user });
  }

  async sync(id: number): Promise<boolean> {
    return isDone(this.#link.sync(licenseId(id)));
  }

  async add(key: string): Promise<boolean> {
    const request = { product: PRODUCT, licenseKey: key, username: null, password: null };
    return isDone(this.#link.add(request, 'admin'));
  }

  async remove(id: number): Promise<boolean> {
    const request = { product: null, licenseId: licenseId(id), licenseKey: null };
    return isDone(this.#link.remove(request, false, 'admin'));
  }

  async settle(reportId: string, isCounted: boolean): Promise<void> {
    await this.#link.settle(reportId, isCounted, 'admin');
  }

  verifyAudit() {
    return this.#app.store.read({ kind: 'verify_audit' });
  }
}

/** Whether it was done. That it was refused, or nobody could be asked, is nothing unusual here. */
async function isDone(work: Promise<unknown>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (error instanceof CloudFault || error instanceof RequestError) return false;
    throw error;
  }
}

function readHeld(license: WireLicense): Held {
  const { floating_users: slots, max_consumptions: max, metadata } = license;
  const stops: [Stop, boolean][] = [
    ['disabled', !license.license_enabled],
    ['inactive', !license.license_active],
    ['expired', license.validity_period !== null],
  ];
  return {
    terms: { version: metadata.version, slots, max },
    stops: stops.flatMap(([stop, is]) => (is ? [stop] : [])),
    inUse: license.floating_in_use,
    total: license.total_consumptions,
    featureTotal: license.product_features[0]?.total_consumptions ?? 0,
  };
}
