import { changeTerms, findFaultInChange, type TermsChange } from '../core/change-terms.ts';
import type { EventKind } from '../core/decision.ts';
import { describeChange } from '../core/describe-change.ts';
import type { License, Product } from '../core/license.ts';
import { isRefusal, type Refusal, refuse } from '../core/refusal.ts';
import type { JudgeLicense } from '../core/refuse-for-server.ts';
import { PLAIN_TERMS, type Terms } from '../core/terms.ts';
import { makeUpLicenseKey } from './made-up-keys.ts';
import { findProduct } from './products.ts';
import { toLicense } from './rows.ts';
import { record, type Shelf, takeId, transact } from './shelf.ts';

type User = License['user'];

export interface LicenseDraft {
  readonly product: string;
  /** `null`: one is made up. */
  readonly key: string | null;
  readonly user: User;
  readonly terms: TermsChange;
}

const TAKE_ALL: JudgeLicense = () => null;

const KEY = /^[\x21-\x7e]{4,128}$/;

export function createLicense(
  shelf: Shelf,
  draft: LicenseDraft,
  now: number,
  judge: JudgeLicense = TAKE_ALL,
): License | Refusal {
  return transact(shelf, () => {
    const key = draft.key ?? makeUpLicenseKey();
    const product = judgeDraft(shelf, { ...draft, key, userName: draft.user?.name ?? null });
    if (isRefusal(product)) return product;
    const id = takeId(shelf);
    const terms = applyChange(shelf, PLAIN_TERMS, draft.terms);
    if (isRefusal(terms)) return terms;
    const { name = null, passwordHash = null } = draft.user ?? {};
    shelf.sql.addLicense.run(id, key, product.id, name, passwordHash, JSON.stringify(terms), now);
    const facts = { product: product.code, user: name, ...describeChange(draft.terms) };
    record(shelf, { kind: 'license_created', facts }, id, now);
    return judged(getLicense(shelf, key), judge);
  });
}

/** The product of a license that can be created, as far as that is known without a password. */
export function judgeDraft(
  shelf: Shelf,
  { product: code, key, userName }: Pick<LicenseDraft, 'product' | 'key'> & { userName: string | null },
): Product | Refusal {
  const product = findProduct(shelf, code);
  if (product === null) return refuse('unknown_product', `There is no product "${code}".`);
  return (key === null ? null : refuseKey(shelf, key)) ?? refuseUser(shelf, product, userName) ?? product;
}

function judged(license: License | Refusal, judge: JudgeLicense): License | Refusal {
  return isRefusal(license) ? license : (judge(license) ?? license);
}

function refuseKey({ sql }: Shelf, key: string): Refusal | null {
  if (!KEY.test(key)) {
    return refuse('validation_error', 'A license key has 4 to 128 printable characters and no spaces.');
  }
  if (sql.findLicense.get(key) === undefined) return null;
  return refuse('validation_error', `There is a license with the key "${key}" already.`);
}

/** A user has one license of a product: sign-in names no other way to choose. */
function refuseUser({ sql }: Shelf, product: Product, user: string | null): Refusal | null {
  const isWanted = product.authorizationMethod === 'user';
  if (isWanted !== (user !== null)) {
    const hint = isWanted
      ? 'asks for users: say whose license it is with --user'
      : 'asks for keys: it has no users';
    return refuse('validation_error', `The product "${product.code}" ${hint}.`);
  }
  if (user === null || sql.findLicenseByUser.get(product.id, user) === undefined) return null;
  return refuse('validation_error', `"${user}" has a license of the product "${product.code}" already.`);
}

function applyChange(shelf: Shelf, terms: Terms, change: TermsChange): Terms | Refusal {
  const after = changeTerms(terms, change, () => takeId(shelf));
  const fault = findFaultInChange(terms, change, after);
  return fault === null ? after : refuse('validation_error', fault);
}

export function getLicense({ sql }: Shelf, key: string): License | Refusal {
  const row = sql.findLicense.get(key);
  return row === undefined
    ? refuse('license_not_found', `There is no license with the key "${key}".`)
    : toLicense(row);
}

/** `null` for nobody, and for a product or a user that does not exist. */
export function findPasswordHash({ sql }: Shelf, product: string, user: string): string | null {
  const productId = sql.findProduct.get(product)?.id ?? null;
  return (sql.findLicenseByUser.get(productId as number, user)?.password_hash as string | undefined) ?? null;
}

export function listLicenses({ sql }: Shelf): readonly License[] {
  return sql.listLicenses.all().map(toLicense);
}

/** Finds the license, lets `work` change it, and records what was done: all in one commit. */
function alter(
  shelf: Shelf,
  key: string,
  now: number,
  work: (license: License) => { kind: EventKind; facts?: Record<string, unknown> } | Refusal,
): License | Refusal {
  return transact(shelf, () => {
    const license = getLicense(shelf, key);
    if (isRefusal(license)) return license;
    const done = work(license);
    if (isRefusal(done)) return done;
    record(shelf, { kind: done.kind, facts: done.facts ?? {} }, license.id, now);
    return getLicense(shelf, key);
  });
}

export interface LicenseChange {
  readonly key: string;
  readonly user: User;
  readonly terms: TermsChange;
}

export function changeLicense(
  shelf: Shelf,
  { key, user, terms }: LicenseChange,
  now: number,
  judge: JudgeLicense = TAKE_ALL,
) {
  return alter(shelf, key, now, (license) => {
    const after = applyChange(shelf, license.terms, terms);
    if (isRefusal(after)) return after;
    const unusable = judge({ ...license, terms: after });
    if (unusable !== null) return unusable;
    const isOther = user !== null && user.name !== license.user?.name;
    const refusal = isOther ? refuseUser(shelf, license.product, user.name) : null;
    if (refusal !== null) return refusal;
    if (user !== null) shelf.sql.setUser.run(user.name, user.passwordHash, license.id);
    shelf.sql.setTerms.run(JSON.stringify(after), license.id);
    const whose = user === null ? {} : { user: user.name };
    return { kind: 'license_changed', facts: { ...describeChange(terms), ...whose } };
  });
}

export function setLicenseEnabled(shelf: Shelf, key: string, isEnabled: boolean, now: number) {
  return alter(shelf, key, now, ({ id }) => {
    shelf.sql.setEnabled.run(isEnabled ? 1 : 0, id);
    return { kind: isEnabled ? 'license_enabled' : 'license_disabled' };
  });
}

/** Takes it from all devices; it has to be activated anew. What was counted stays. */
export function resetLicense(shelf: Shelf, key: string, now: number) {
  return alter(shelf, key, now, ({ id }) => {
    const devices = Number(shelf.sql.removeDevices.run(id).changes);
    shelf.sql.setActive.run(0, id);
    return { kind: 'license_reset', facts: { devices } };
  });
}
