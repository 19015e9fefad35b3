import { ProofError } from '../errors.ts';
import type { Fields } from '../read-answer.ts';

/** What a server may claim about its license is what the vendor has certified, or less. */
export function judgeTerms(claims: Fields, server: Fields): void {
  const license = listOf(server.licenses).find(({ license_id: id }) => id === claims.license_id);
  if (license === undefined) throw new ProofError('The certificate is not for this license.');
  if (claims.product !== license.product) throw new ProofError('The certificate is for another product.');
  const [claimed, certified] = [fieldsOf(claims.limits), fieldsOf(license.limits)];
  for (const name of ['floating_users', 'floating_timeout', 'max_borrow_time']) {
    assertCertified(isAtMost(claimed[name], certified[name]), name);
  }
  judgeConsumption(claimed, certified, 'max_consumptions');
  assertCertified(isNotLater(claimed.validity_period, certified.validity_period), 'validity_period');
  assertCertified(isNotLater(claims.valid_until, license.ends_at), 'valid_until');
  const features = listOf(license.features);
  const isNamed = claims.feature === null || features.some(({ code }) => code === claims.feature);
  assertCertified(isNamed, `the feature "${claims.feature}"`);
  for (const feature of listOf(claims.features)) judgeFeature(feature, features);
}

function judgeFeature(claimed: Fields, features: readonly Fields[]): void {
  const name = `the feature "${claimed.code}"`;
  const certified = features.find(({ code }) => code === claimed.code);
  if (certified === undefined) throw tooMuch(name);
  judgeConsumption(claimed, certified, name);
  assertCertified(isAtMost(claimed.floating_users, certified.floating_users), name);
  assertCertified(isNotLater(claimed.expiry_date, certified.expiry_date), name);
}

function judgeConsumption(claimed: Fields, certified: Fields, name: string): void {
  if (certified.allow_unlimited_consumptions === true) return;
  assertCertified(claimed.allow_unlimited_consumptions !== true, name);
  assertCertified(isAtMost(claimed.max_consumptions, certified.max_consumptions), name);
}

function assertCertified(isFine: boolean, what: string): void {
  if (!isFine) throw tooMuch(what);
}

function tooMuch(what: string): ProofError {
  return new ProofError(`The grant claims more than the vendor has certified: ${what}.`);
}

/** Without a number, there is nothing. */
function isAtMost(claimed: unknown, certified: unknown): boolean {
  return Number(claimed ?? 0) <= Number(certified ?? 0);
}

/** Without a date, there is no end. */
function isNotLater(claimed: unknown, certified: unknown): boolean {
  if (certified === null || certified === undefined) return true;
  return Date.parse(String(claimed)) <= Date.parse(String(certified));
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}
