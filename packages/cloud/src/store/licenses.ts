import { changeTerms, findFaultInChange, type TermsChange } from '../core/change-terms.ts';
import type { EventKind } from '../core/decision.ts';
import { describeChange } from '../core/describe-change.ts';
import type { License, Product } from '../core/license.ts';
import { isRefusal, type Refusal, refuse } from '../core/refusal.ts';
import type { JudgeLicense } from '../core/refuse-for-server.ts';
import { PLAIN_TERMS, type Terms } from '../core/terms.ts';
import { type CloudStore, record, takeId, transact } from './cloud-store.ts';
import { generateLicenseKey } from './keys/generate-keys.ts';
import { findProduct } from './products.ts';
import { toLicense } from './rows.ts';

type User = License['user'];

export interface LicenseDraft {
  readonly product: string;
  /** `null`: generate one. */
  readonly key: string | null;
  readonly user: User;
  /** Left out: the license belongs to no particular customer. */
  readonly customer?: string | null;
  readonly terms: TermsChange;
}

const TAKE_ALL: JudgeLicense = () => null;

const KEY = /^[\x21-\x7e]{4,128}$/;

export function createLicense(
  store: CloudStore,
  draft: LicenseDraft,
  now: number,
  judge: JudgeLicense = TAKE_ALL,
): License | Refusal {
  return transact(store, () => {
    const key = draft.key ?? generateLicenseKey();
    const product = judgeDraft(store, { ...draft, key, userName: draft.user?.name ?? null });
    if (isRefusal(product)) return product;
    const id = takeId();
    const terms = applyChange(PLAIN_TERMS, draft.terms);
    if (isRefusal(terms)) return terms;
    const { name = null, passwordHash = null } = draft.user ?? {};
    const { customer = null } = draft;
    store.sql.addLicense.run(id, key, product.id, name, passwordHash, customer, JSON.stringify(terms), now);
    const facts = { product: product.code, user: name, customer, ...describeChange(draft.terms) };
    record(store, { kind: 'license_created', facts }, id, now);
    return judged(getLicense(store, key), judge);
  });
}

/** The product of a new license, checked as far as possible without a password. */
export function judgeDraft(
  store: CloudStore,
  { product: code, key, userName }: Pick<LicenseDraft, 'product' | 'key'> & { userName: string | null },
): Product | Refusal {
  const product = findProduct(store, code);
  if (product === null) return refuseProduct(code);
  return (key === null ? null : refuseKey(store, key)) ?? refuseUser(store, product, userName) ?? product;
}

export function refuseProduct(code: string): Refusal {
  return refuse('unknown_product', `The product "${code}" does not exist.`);
}

function judged(license: License | Refusal, judge: JudgeLicense): License | Refusal {
  return isRefusal(license) ? license : (judge(license) ?? license);
}

function refuseKey({ sql }: CloudStore, key: string): Refusal | null {
  if (!KEY.test(key)) {
    return refuse('validation_error', 'A license key has 4 to 128 printable characters and no spaces.');
  }
  if (sql.findLicense.get(key) === undefined) return null;
  return refuse(
    'validation_error',
    `A license with the key "${key}" already exists. Choose another; "cloud license show ${key}" shows it.`,
  );
}

/** A user has at most one license of a product, because sign-in cannot choose between several. */
function refuseUser({ sql }: CloudStore, product: Product, user: string | null): Refusal | null {
  const isWanted = product.authorizationMethod === 'user';
  if (isWanted !== (user !== null)) {
    const hint = isWanted
      ? 'issues licenses to users: add --user'
      : 'issues licenses by key and has no users';
    return refuse('validation_error', `The product "${product.code}" ${hint}.`);
  }
  if (user === null || sql.findLicenseByUser.get({ product: product.id, user, customer: null }) === undefined)
    return null;
  return refuse(
    'validation_error',
    `"${user}" already has a license for product "${product.code}". ` +
      `"cloud license list --user ${user}" shows its key.`,
  );
}

function applyChange(terms: Terms, change: TermsChange): Terms | Refusal {
  const after = changeTerms(terms, change, takeId);
  const fault = findFaultInChange(terms, change, after);
  return fault === null ? after : refuse('validation_error', fault);
}

export function getLicense({ sql }: CloudStore, key: string): License | Refusal {
  const row = sql.findLicense.get(key);
  return row === undefined ? refuse('license_not_found', `No license has the key "${key}".`) : toLicense(row);
}

/** `null` without a user, and for an unknown product or user, or one of another customer. */
export function findPasswordHash(
  { sql }: CloudStore,
  code: string,
  user: string,
  customer: string | null,
): string | null {
  const product = (sql.findProduct.get(code)?.id as number | undefined) ?? null;
  const row = sql.findLicenseByUser.get({ product, user, customer });
  return (row?.password_hash as string | undefined) ?? null;
}

export function listLicenses({ sql }: CloudStore): readonly License[] {
  return sql.listLicenses.all().map(toLicense);
}

/** Finds the license, lets `work` change it, and records the event, all in one transaction. */
function alter(
  store: CloudStore,
  key: string,
  now: number,
  work: (license: License) => { kind: EventKind; facts?: Record<string, unknown> } | Refusal,
): License | Refusal {
  return transact(store, () => {
    const license = getLicense(store, key);
    if (isRefusal(license)) return license;
    const done = work(license);
    if (isRefusal(done)) return done;
    record(store, { kind: done.kind, facts: done.facts ?? {} }, license.id, now);
    return getLicense(store, key);
  });
}

interface LicenseChange {
  readonly key: string;
  readonly user: User;
  /** Left out: as it is. */
  readonly customer?: string | null;
  readonly terms: TermsChange;
}

export function changeLicense(
  store: CloudStore,
  { key, user, customer, terms }: LicenseChange,
  now: number,
  judge: JudgeLicense = TAKE_ALL,
) {
  return alter(store, key, now, (license) => {
    const after = applyChange(license.terms, terms);
    if (isRefusal(after)) return after;
    const unusable = judge({ ...license, terms: after });
    if (unusable !== null) return unusable;
    const isOther = user !== null && user.name !== license.user?.name;
    const refusal = isOther ? refuseUser(store, license.product, user.name) : null;
    if (refusal !== null) return refusal;
    if (user !== null) store.sql.setUser.run(user.name, user.passwordHash, license.id);
    if (customer !== undefined && customer !== license.customer) {
      store.sql.setCustomer.run(customer, license.id);
      // Its server has to prove a pair of the new customer, or to be approved again.
      store.sql.endApprovals.run(license.id);
      store.sql.unproveLicense.run(license.id);
    }
    store.sql.setTerms.run(JSON.stringify(after), license.id);
    const whose = user === null ? {} : { user: user.name };
    const holder = customer === undefined ? {} : { customer };
    return { kind: 'license_changed', facts: { ...describeChange(terms), ...whose, ...holder } };
  });
}

export function setLicenseEnabled(store: CloudStore, key: string, isEnabled: boolean, now: number) {
  return alter(store, key, now, ({ id }) => {
    store.sql.setEnabled.run(isEnabled ? 1 : 0, id);
    return { kind: isEnabled ? 'license_enabled' : 'license_disabled' };
  });
}

/** Removes all devices; the license must be activated again. Consumption stays. */
export function resetLicense(store: CloudStore, key: string, now: number) {
  return alter(store, key, now, ({ id }) => {
    store.sql.endApprovals.run(id);
    const devices = Number(store.sql.removeDevices.run(id).changes);
    store.sql.setActive.run(0, id);
    return { kind: 'license_reset', facts: { devices } };
  });
}
