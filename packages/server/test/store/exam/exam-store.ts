import assert from 'node:assert/strict';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from '../../../src/core/command.ts';
import type { RecordedEvent } from '../../../src/core/nouns/audit-event.ts';
import type { ConsumptionTotals } from '../../../src/core/nouns/consumption.ts';
import type { Instant } from '../../../src/core/nouns/instant.ts';
import type { License, LicenseId } from '../../../src/core/nouns/license.ts';
import type { Registration } from '../../../src/core/nouns/registration.ts';
import type { StoreNotice } from '../../../src/core/nouns/store-notice.ts';
import type { Granted, Measured, Outcome, Refused } from '../../../src/core/outcome.ts';
import { type Clock, createManualClock } from '../../../src/store/clock.ts';
import type { BacklogRecord, LicenseRecord } from '../../../src/store/query.ts';
import type { Executed, Store } from '../../../src/store/store.ts';
import {
  borrow,
  consume,
  exampleLicense,
  expectRefused,
  NOW,
  recall,
  register,
  registerFeature,
  release,
  releaseFeature,
  unregister,
} from '../../core/examples.ts';

export interface OpenOptions {
  /** An empty folder, or one in which this kind of store was opened before. */
  readonly folder: string;
  readonly clock: Clock;
  readonly onNotice: (notice: StoreNotice) => void;
  /** Whether users that differ only in case are one; left out, it stays as it is. */
  readonly ignoresCase?: boolean | undefined;
}

export type OpenStore = (options: OpenOptions) => Promise<Store>;

/** A store under test, with its data, its clock and the helpers for the cases. */
export class ExamStore {
  readonly clock = createManualClock(NOW);
  notices: StoreNotice[] = [];
  readonly #open: OpenStore;
  readonly #folders: string[] = [];
  readonly #beside: Store[] = [];
  #store!: Store;

  private constructor(open: OpenStore) {
    this.#open = open;
  }

  static async start(open: OpenStore): Promise<ExamStore> {
    const exam = new ExamStore(open);
    await exam.#openIn(await exam.#makeFolder());
    return exam;
  }

  get store(): Store {
    return this.#store;
  }

  get folder(): string {
    return this.#folders.at(-1) as string;
  }

  async end(): Promise<void> {
    for (const store of [this.#store, ...this.#beside]) await store.close();
    for (const folder of this.#folders) await rm(folder, { recursive: true });
  }

  /** Another server on the same data. */
  async openBeside(ignoresCase?: boolean): Promise<Store> {
    const options = { folder: this.folder, clock: this.clock, onNotice: () => {}, ignoresCase };
    const store = await this.#open(options);
    this.#beside.push(store);
    return store;
  }

  /** Closes the store properly and opens it again. */
  async restart(meanwhile: () => void = () => {}): Promise<void> {
    await this.#store.close();
    meanwhile();
    await this.#openIn(this.folder);
  }

  /** Closes the store and opens it again to ignore case, or no longer. */
  async restartWith({ ignoresCase }: Pick<OpenOptions, 'ignoresCase'>): Promise<void> {
    await this.#store.close();
    await this.#openIn(this.folder, ignoresCase);
  }

  /** Continues with what is on disk now, as after a crash: the store was not closed. */
  async crash(meanwhile: () => void = () => {}): Promise<void> {
    const crashed = this.#store;
    const copy = await mkdtemp(join(tmpdir(), 'berth-exam-'));
    await cp(this.folder, copy, { recursive: true });
    this.#folders.push(copy);
    meanwhile();
    await this.#openIn(copy);
    await crashed.close();
  }

  async execute(command: Command): Promise<Executed> {
    const outcome = await this.#store.execute(command);
    if (outcome.kind === 'refused') expectRefused(outcome);
    return outcome;
  }

  /** Two slots, ten minutes, borrowing for up to a day, valid for ever; see `exampleLicense`. */
  async install(facts: Partial<License> = {}): Promise<License> {
    const license = exampleLicense(facts);
    await this.execute({ kind: 'install_license', license, by: 'admin' });
    return license;
  }

  register(...args: Parameters<typeof register>): Promise<Outcome> {
    return this.execute(register(...args));
  }

  borrow(...args: Parameters<typeof borrow>): Promise<Outcome> {
    return this.execute(borrow(...args));
  }

  unregister(...args: Parameters<typeof unregister>): Promise<Outcome> {
    return this.execute(unregister(...args));
  }

  release(...args: Parameters<typeof release>): Promise<Outcome> {
    return this.execute(release(...args));
  }

  recall(...args: Parameters<typeof recall>): Promise<Outcome> {
    return this.execute(recall(...args));
  }

  releaseAll({ id }: License): Promise<Outcome> {
    return this.execute({ kind: 'release_all', licenseId: id, by: 'admin' });
  }

  consume(...args: Parameters<typeof consume>): Promise<Outcome> {
    return this.execute(consume(...args));
  }

  registerFeature(...args: Parameters<typeof registerFeature>): Promise<Outcome> {
    return this.execute(registerFeature(...args));
  }

  releaseFeature(...args: Parameters<typeof releaseFeature>): Promise<Outcome> {
    return this.execute(releaseFeature(...args));
  }

  /** How much was pending, now under this id. */
  async cutReport({ id }: License, reportId: string, feature: string | null = null): Promise<number> {
    const outcome = await this.execute({ kind: 'cut_report', licenseId: id, feature, reportId });
    return outcome.kind === 'done' ? outcome.count : Number.NaN;
  }

  async settleReport({ id }: License, reportId: string, isCounted: boolean, feature: string | null = null) {
    const told = { cloudTotal: null, isSure: true, takesLower: true, by: 'cloud' };
    const report = { licenseId: id, feature, reportId, isCounted, ...told };
    const outcome = await this.execute({ kind: 'settle_report', ...report });
    return outcome.kind === 'done' ? outcome.count : Number.NaN;
  }

  /** What the vendor does not know of the license. */
  async readBacklog({ id }: License, feature: string | null = null): Promise<BacklogRecord | undefined> {
    const records = await this.#store.read({ kind: 'list_backlog' });
    return records.find((record) => record.licenseId === id && record.feature === feature);
  }

  /** What was counted, as a query returns it. */
  async readTotals({ id }: License): Promise<ConsumptionTotals> {
    const record = (await this.listLicenses()).find(({ license }) => license.id === id);
    return (record as LicenseRecord).totals;
  }

  async countFeatureSlots(license: License, feature = 'render'): Promise<number | undefined> {
    const { features } = await this.readTotals(license);
    return features.find(({ code }) => code === feature)?.inUse;
  }

  /** The server's time. */
  async now(): Promise<Instant> {
    return (await this.#store.keepClock()).now;
  }

  async listSlots(licenseId: LicenseId | null = null): Promise<readonly Registration[]> {
    const scope = { licenseId, product: null, user: null };
    const page = await this.#store.read({ kind: 'list_registrations', ...scope, limit: 1e6, after: null });
    return page.registrations.map(({ registration }) => registration);
  }

  async findSlot(user: string): Promise<Registration | undefined> {
    return (await this.listSlots()).find((slot) => slot.user === user);
  }

  async listUsers(): Promise<readonly string[]> {
    return (await this.listSlots()).map(({ user }) => user);
  }

  listLicenses(): Promise<readonly LicenseRecord[]> {
    return this.#store.read({ kind: 'list_licenses', product: null });
  }

  async countInUse({ id }: License): Promise<number> {
    const record = (await this.listLicenses()).find(({ license }) => license.id === id);
    return (record as LicenseRecord).inUse;
  }

  /** A chain's events, the oldest first. */
  async listEvents(chain: LicenseId | 'system'): Promise<readonly RecordedEvent[]> {
    const links = await this.#store.read({ kind: 'list_audit', chain, limit: 1e6, before: null });
    return links.toReversed().flatMap(({ events }) => events);
  }

  async listEventsOf<K extends RecordedEvent['kind']>(kind: K, chain: LicenseId | 'system') {
    const events = await this.listEvents(chain);
    return events.filter((event): event is RecordedEvent & { kind: K } => event.kind === kind);
  }

  async #makeFolder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'berth-exam-'));
    this.#folders.push(folder);
    return folder;
  }

  async #openIn(folder: string, ignoresCase?: boolean): Promise<void> {
    const onNotice = (notice: StoreNotice) => this.notices.push(notice);
    this.#store = await this.#open({ folder, clock: this.clock, onNotice, ignoresCase });
  }
}

export function grantedOf(outcome: Outcome): Granted {
  assert.equal(outcome.kind, 'granted', JSON.stringify(outcome));
  return outcome as Granted;
}

export function measuredOf(outcome: Outcome): Measured {
  assert.equal(outcome.kind, 'measured', JSON.stringify(outcome));
  return outcome as Measured;
}

export function refusedOf(outcome: Outcome): Refused {
  return expectRefused(outcome);
}

export function codeOf(outcome: Outcome): string {
  return outcome.kind === 'refused' ? outcome.code : outcome.kind;
}

/** Users with numbers for names. */
export function users(count: number, prefix = 'user'): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${String(index).padStart(4, '0')}`);
}
