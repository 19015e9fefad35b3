import { waitForStop } from '@berth/shell/console/stop-signals';
import { parseFeatureSpec } from '../core/feature-spec.ts';
import { isRefusal, type Refusal, refuse } from '../core/refusal.ts';
import { judgeLicense } from '../http/portal/write-files.ts';
import type { CloudStore } from '../store/cloud-store.ts';
import { exportPublicKeys } from '../store/keys/key-files.ts';
import { type CallerKey, createKey, listKeys } from '../store/keys/keys.ts';
import { createLicense, listLicenses } from '../store/licenses.ts';
import { createProduct, findProduct, listProducts } from '../store/products.ts';
import { type ServeOptions, startCloud } from './serve.ts';

const DEMO = 'demo';

/** Unlimited activations, so that a new demo server can always activate it. */
const TERMS = {
  slots: 5,
  timeoutMinutes: 10,
  borrowHours: 168,
  maxActivations: null,
  consumption: { max: 1000, period: 'monthly' },
  features: [
    parseFeatureSpec('export,name=Export (demo),consumptions=100'),
    parseFeatureSpec('render,name=Render (demo),slots=2,timeout=10,borrow-hours=168'),
  ],
  company: 'Berth demo',
} as const;

interface DemoFacts {
  readonly key: CallerKey;
  readonly licenseKey: string;
}

/**
 * Runs a cloud with demo data until a signal or until standard input closes, so that it ends with its parent
 * process. Prints one line of JSON when ready.
 */
export async function serveDemo(options: ServeOptions): Promise<Refusal | null> {
  const { folder, clock, terminal } = options;
  const demo = ensureDemo(folder.store, clock.readWallMs());
  if (isRefusal(demo)) return demo;
  const listening = await startCloud(options);
  const ended = Promise.race([waitForStop(process), waitForInputEnd()]);
  terminal.print(
    JSON.stringify({
      url: listening.url,
      public_key: exportPublicKeys(folder.keyRing.read().all),
      api_key: demo.key.apiKey,
      shared_key: demo.key.sharedKey,
      product: DEMO,
      license_key: demo.licenseKey,
    }),
  );
  await ended;
  process.stdin.destroy();
  await listening.stop();
  return null;
}

function waitForInputEnd(): Promise<void> {
  return new Promise((resolve) => {
    for (const event of ['end', 'close', 'error']) process.stdin.once(event, () => resolve());
    process.stdin.resume();
  });
}

/** Creates only what is missing, so that the next start repairs an interrupted one. */
function ensureDemo(store: CloudStore, now: number): DemoFacts | Refusal {
  const known = listKeys(store);
  const isEmpty = known.length === 0 && listProducts(store).length === 0;
  const key = known.find(({ name }) => name === DEMO) ?? (isEmpty ? createKey(store, DEMO, now) : null);
  if (key === null) {
    return refuse(
      'validation_error',
      'The data folder contains a cloud that is not a demo. Choose another one with --data.',
    );
  }
  if (isRefusal(key)) return key;
  const draft = { code: DEMO, name: 'Berth demo product', authorizationMethod: 'license-key' } as const;
  const product = findProduct(store, DEMO) ?? createProduct(store, draft, now);
  if (isRefusal(product)) return product;
  const license =
    listLicenses(store).find((one) => one.product.code === DEMO) ??
    createLicense(store, { product: DEMO, key: null, user: null, terms: TERMS }, now, judgeLicense);
  return isRefusal(license) ? license : { key, licenseKey: license.key };
}
