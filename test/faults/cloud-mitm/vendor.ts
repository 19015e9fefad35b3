import type { FeatureDraft } from '@berth/cloud/core/change-terms';
import { isExpired, type License } from '@berth/cloud/core/license';
import { isRefusal } from '@berth/cloud/core/refusal';
import { createFileWriter } from '@berth/cloud/http/portal/write-files';
import { transact } from '@berth/cloud/store/cloud-store';
import { type DataFolder, openDataFolder } from '@berth/cloud/store/data-folder';
import { listDevices } from '@berth/cloud/store/devices';
import { loadTotals, perform } from '@berth/cloud/store/execute';
import { changeLicense, createLicense, getLicense, setLicenseEnabled } from '@berth/cloud/store/licenses';
import { createProduct, findProduct } from '@berth/cloud/store/products';
import { readLicenseFile } from '@berth/protocol/carried/license-file';
import { signBytes } from '@berth/protocol/cloud/vendor-signature';
import type { CloudProcess } from '../../support/cloud/cloud-process.ts';
import { pickNumber, pickOne, type Random } from '../../support/random.ts';

/** Why a license does not run. */
export type Stop = 'disabled' | 'inactive' | 'expired';

/** What the vendor grants at one moment. Every change of the vendor has a version of its own. */
export interface Terms {
  readonly version: number;
  readonly slots: number;
  readonly max: number;
}

/** Everything that the cloud knows of a license at one moment and a server may be told. */
export interface Snapshot {
  readonly terms: Terms;
  readonly isEnabled: boolean;
  readonly isActive: boolean;
  readonly isExpired: boolean;
  /** The hardware ids that it is activated for. */
  readonly devices: readonly string[];
}

/** What a server that asks now has to be told; `null`: the license runs. */
export function findStop(now: Snapshot, hardwareId: string): Stop | null {
  if (!now.isEnabled) return 'disabled';
  if (!now.isActive) return 'inactive';
  if (now.isExpired) return 'expired';
  return now.devices.includes(hardwareId) ? null : 'inactive';
}

/** A text that the vendor signed for another purpose than an answer. */
export interface SignedFile {
  readonly body: string;
  readonly signature: string;
}

export const PRODUCT = 'cad';
export const FEATURE = 'export';

/** Both meters of a license: its own, and the one of its feature. */
export const METERS = [null, FEATURE] as const;
export type MeterName = (typeof METERS)[number];

const LONG_AGO = Date.UTC(2020, 0, 1);

/**
 * The vendor of a real cloud, at work on the same file as its command line would be. It remembers all states
 * that each license has had.
 */
export class Vendor {
  readonly keys: readonly string[];
  readonly #folder: DataFolder;
  readonly #history = new Map<string, Snapshot[]>();
  #version = 0;

  private constructor(folder: DataFolder, licenses: number) {
    this.#folder = folder;
    const product = { code: PRODUCT, name: null, authorizationMethod: 'license-key' } as const;
    if (findProduct(folder.store, PRODUCT) === null) createProduct(folder.store, product, Date.now());
    this.keys = Array.from({ length: licenses }, () => this.#grant());
    this.look();
  }

  static open(t: { after(work: () => unknown): void }, cloud: CloudProcess, licenses: number): Vendor {
    const folder = openDataFolder(cloud.data);
    t.after(() => folder.close());
    return new Vendor(folder, licenses);
  }

  #grant(): string {
    const limits = { max: 1_000_000, overages: 0, allowNegative: false, period: null };
    const feature: FeatureDraft = {
      code: FEATURE,
      name: FEATURE,
      type: 'consumption',
      consumption: { ...limits, max: null },
      lending: null,
      expiresAt: null,
    };
    const granted = { slots: 50, maxActivations: null, consumption: limits, features: [feature] };
    const terms = { ...granted, metadata: { version: ++this.#version } };
    const made = createLicense(
      this.#folder.store,
      { product: PRODUCT, key: null, user: null, terms },
      Date.now(),
    );
    if (isRefusal(made)) throw new Error(made.message);
    return made.key;
  }

  /** Takes note of the state of every license, where it is a new one. */
  look(): void {
    for (const key of this.keys) {
      const seen = this.#history.get(key) ?? [];
      const now = this.#read(key);
      if (JSON.stringify(seen.at(-1)) !== JSON.stringify(now)) seen.push(now);
      this.#history.set(key, seen);
    }
  }

  /** How many states a license has had so far. */
  mark(key: string): number {
    return this.#history.get(key)?.length ?? 0;
  }

  /** The state that was the newest at a mark, and all that followed. */
  since(key: string, mark: number): readonly Snapshot[] {
    return this.#history.get(key)?.slice(mark - 1) ?? [];
  }

  now(key: string): Snapshot {
    return this.#read(key);
  }

  #read(key: string): Snapshot {
    const { id, terms, isEnabled, isActive } = this.#get(key);
    return {
      terms: {
        version: terms.metadata.version as number,
        slots: terms.lending?.slots ?? 0,
        max: terms.consumption.max ?? 0,
      },
      isEnabled,
      isActive,
      isExpired: isExpired(terms, Date.now()),
      devices: listDevices(this.#folder.store, id).map(({ hardwareId }) => hardwareId),
    };
  }

  #get(key: string): License {
    const license = getLicense(this.#folder.store, key);
    if (isRefusal(license)) throw new Error(license.message);
    return license;
  }

  idOf(key: string): number {
    return this.#get(key).id;
  }

  total(key: string, meter: MeterName): number {
    return loadTotals(this.#folder.store, this.#get(key), Date.now()).get(meter ?? '') ?? 0;
  }

  hasCounted(key: string, reportId: string): boolean {
    return this.#folder.store.sql.findReport.get(this.idOf(key), reportId) !== undefined;
  }

  /** Changes slots and limits, stops a license, or lets it go on. */
  change(random: Random, key: string): void {
    const slots = pickNumber(random, { from: 1, to: 60 });
    const max = this.total(key, null) + pickNumber(random, { from: 50, to: 100_000 });
    const isEnabled = random() < 0.65;
    const validUntil = pickOne(random, [null, null, null, LONG_AGO]);
    this.#put(key, { slots, max, isEnabled, validUntil });
  }

  /** Nothing stops the license any more. */
  release(key: string): void {
    const { slots, max } = this.now(key).terms;
    this.#put(key, { slots, max: max + 1_000_000, isEnabled: true, validUntil: null });
  }

  #put(
    key: string,
    wish: {
      readonly slots: number;
      readonly max: number;
      readonly isEnabled: boolean;
      readonly validUntil: number | null;
    },
  ): void {
    const { slots, max, isEnabled, validUntil } = wish;
    const { store } = this.#folder;
    const metadata = { version: ++this.#version };
    const terms = { slots, consumption: { max }, validUntil, metadata };
    const results = [
      changeLicense(store, { key, user: null, terms }, Date.now()),
      setLicenseEnabled(store, key, isEnabled, Date.now()),
    ];
    for (const result of results) if (isRefusal(result)) throw new Error(result.message);
    this.look();
  }

  sign(text: string): string {
    return signBytes(this.#folder.keyRing.read().current, Buffer.from(text));
  }

  /** A policy for the air gap and the refresh of a license file, as the vendor hands them to customers. */
  writeFiles(key: string, hardwareId: string): readonly SignedFile[] {
    const { store, keyRing } = this.#folder;
    const proof = { kind: 'key', key } as const;
    const who = { product: PRODUCT, hardwareId, licenseId: null, proof };
    const outcome = transact(store, () => perform(store, { kind: 'check', who }, Date.now()));
    if (outcome.kind !== 'licensed') throw new Error(`${hardwareId} does not have ${key}.`);
    const writer = createFileWriter(keyRing.read(), Date.now());
    return [writer.writePolicy(outcome, Date.now()), writer.writeRefresh(outcome, Date.now())].map((file) => {
      const { fields, signedText: body } = readLicenseFile(file);
      return { body, signature: String(fields.license_signature_v2) };
    });
  }
}
