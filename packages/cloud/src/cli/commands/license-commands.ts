import { UsageError } from '@berth/shell/console/command-line';
import { formatFacts } from '@berth/shell/console/console-text';
import { parseFeatureSpec } from '../../core/feature-spec.ts';
import type { License } from '../../core/license.ts';
import { ValueError } from '../../core/read-values.ts';
import { isRefusal, type Refusal } from '../../core/refusal.ts';
import { judgeLicense } from '../../http/portal/write-files.ts';
import { listDevices } from '../../store/devices.ts';
import { loadTotals } from '../../store/execute.ts';
import {
  changeLicense,
  createLicense,
  getLicense,
  judgeDraft,
  listLicenses,
  refuseProduct,
  resetLicense,
  setLicenseEnabled,
} from '../../store/licenses.ts';
import { hashPassword } from '../../store/passwords.ts';
import { findProduct } from '../../store/products.ts';
import type { Call, Command } from '../command.ts';
import { readCustomer, readEndOrNever, readLicenseFilter, readTermsChange } from './license-flags.ts';
import { flagOfState, LICENSE_STATES, presentLicenseFacts } from './present.ts';
import { type LicenseFacts, showLicense, showLicenses } from './show-license.ts';

const TERMS_USAGE = `[--type perpetual|time-limited|consumption|subscription]
      [--slots N] [--timeout MINUTES] [--borrow-hours N]
      [--starts-at DATE] [--valid-until DATE] [--grace-hours N]
      [--activations N | --unlimited-activations]
      [--consumptions N | --unlimited-consumptions] [--overages N] [--negative]
      [--period daily|weekly|monthly|annually] [--feature SPEC]… [--max-offline-days N] [--customer NAME]
      [--metadata JSON] [--company NAME] [--user NAME, with the password on standard input]`;

export const LICENSE_COMMANDS: readonly Command[] = [
  {
    words: 'license create',
    usage: `--product CODE [--key K] ${TERMS_USAGE}`,
    about: 'grant a license',
    run: runCreate,
    show: ({ license_key: key, id }: LicenseFacts) => formatFacts({ 'license key': key, id }),
    warn: warnOfTerms,
  },
  {
    words: 'license list',
    usage: `[--product CODE] [--state ${LICENSE_STATES.map(flagOfState).join('|')}]
      [--customer NAME] [--company NAME] [--user NAME] [--ends-before DATE]`,
    about: 'list the licenses, all or those that fit',
    run: runList,
    show: showLicenses,
  },
  {
    words: 'license show',
    arguments: ['KEY'],
    about: 'show a license with its features and devices',
    run: (call) => presentResult(call, getLicense(call.store, keyOf(call))),
    show: showLicense,
  },
  {
    words: 'license change',
    arguments: ['KEY'],
    usage: '[the flags of create] [--without-feature CODE]… [--no-negative] [--without-customer]',
    otherFlags: TERMS_USAGE,
    about: 'change the terms; --feature adds or replaces one',
    run: runChange,
    show: showLicense,
    warn: warnOfTerms,
  },
  {
    words: 'license extend',
    arguments: ['KEY'],
    usage: '--until DATE|never',
    about: 'change the end of a license',
    run: runExtend,
    show: showLicense,
    warn: warnOfPast,
  },
  {
    words: 'license disable',
    arguments: ['KEY'],
    about: 'disable a license; servers stop lending it at their next check',
    run: (call) => presentResult(call, setLicenseEnabled(call.store, keyOf(call), false, call.now)),
    show: ({ license_key: key }: LicenseFacts) => `Disabled license ${key}.`,
  },
  {
    words: 'license enable',
    arguments: ['KEY'],
    about: 'enable a disabled license',
    run: (call) => presentResult(call, setLicenseEnabled(call.store, keyOf(call), true, call.now)),
    show: ({ license_key: key }: LicenseFacts) => `Enabled license ${key}.`,
  },
  {
    words: 'license reset',
    arguments: ['KEY'],
    about: 'deactivate a license on all devices',
    run: (call) => presentResult(call, resetLicense(call.store, keyOf(call), call.now)),
    show: ({ license_key: key }: LicenseFacts) => `Deactivated license ${key} on all devices.`,
  },
];

function keyOf({ words }: Call): string {
  return words[0] as string;
}

function present({ store, now }: Call, license: License) {
  const devices = listDevices(store, license.id);
  return presentLicenseFacts({ license, totals: loadTotals(store, license, now), devices, now });
}

function presentResult(call: Call, result: License | Refusal) {
  return isRefusal(result) ? result : present(call, result);
}

function runList(call: Call): unknown {
  const isWanted = readLicenseFilter(call.flags, call.now);
  const { product } = call.flags;
  const licenses = listLicenses(call.store);
  if (product !== undefined && findProduct(call.store, product) === null) return refuseProduct(product);
  return { licenses: licenses.filter(isWanted).map((license) => present(call, license)) };
}

/** Both are allowed, but probably not meant. */
function warnOfTerms(license: LicenseFacts, call: Call): readonly string[] {
  return [...warnOfNoSlots(license), ...warnOfPast(license, call)];
}

function warnOfNoSlots({ slots, type, license_key: key }: LicenseFacts): readonly string[] {
  if (slots > 0) return [];
  const lends = type === 'consumption' ? 'count its consumption but lend nothing' : 'have nothing to lend';
  const hint = `Add some with "cloud license change ${key} --slots N".`;
  return [`This license has no slots: servers ${lends}. ${hint}`];
}

/** Only about dates that were given now. */
function warnOfPast(license: LicenseFacts, { flags, now }: Call): readonly string[] {
  const { license_key: key, valid_until: end, state } = license;
  const isPast = (date: string | null) => date !== null && Date.parse(date) <= now;
  const isEndGiven = (flags['valid-until'] ?? flags.until) !== undefined;
  const hint = `Change it with "cloud license extend ${key} --until DATE".`;
  const effect = state === 'expired' ? ', so it is expired' : '';
  const ended = `The end of this license, ${end}, is in the past${effect}. ${hint}`;
  const given = new Set(flags.feature?.map((spec) => parseFeatureSpec(spec).code));
  const features = license.features.filter(({ code, expires_at }) => given.has(code) && isPast(expires_at));
  return [
    ...(isEndGiven && isPast(end) ? [ended] : []),
    ...features.map((one) => `The feature "${one.code}" expired at ${one.expires_at}, which is in the past.`),
  ];
}

async function runCreate(call: Call): Promise<unknown> {
  const { store, flags, now } = call;
  const product = flags.product as string;
  const terms = readTermsChange(flags);
  const draft = { product, key: flags.key ?? null, customer: readCustomer(flags) ?? null };
  // Fail before asking for a password.
  const judged = judgeDraft(store, { ...draft, userName: flags.user ?? null });
  if (isRefusal(judged)) return judged;
  const user = await readUser(call);
  return presentResult(call, createLicense(store, { ...draft, user, terms }, now, judgeLicense));
}

async function runChange(call: Call): Promise<unknown> {
  const terms = readTermsChange(call.flags);
  const customer = readCustomer(call.flags);
  const isSame = customer === undefined && call.flags.user === undefined;
  if (Object.keys(terms).length === 0 && isSame) {
    throw new UsageError('Nothing to change. Add a flag for what to change.');
  }
  const license = getLicense(call.store, keyOf(call));
  if (isRefusal(license)) return license;
  const user = await readUser(call);
  return presentResult(
    call,
    changeLicense(
      call.store,
      { key: keyOf(call), user, ...(customer === undefined ? {} : { customer }), terms },
      call.now,
      judgeLicense,
    ),
  );
}

function runExtend(call: Call): unknown {
  const terms = { validUntil: readEndOrNever('until', call.flags.until as string) };
  return presentResult(
    call,
    changeLicense(call.store, { key: keyOf(call), user: null, terms }, call.now, judgeLicense),
  );
}

const PASSWORD_LENGTHS = { shortest: 8, longest: 1024 } as const;

async function readUser({ flags, readSecret }: Call): Promise<License['user']> {
  if (flags.user === undefined) return null;
  const password = await readSecret(`Password for ${flags.user}: `);
  const { shortest, longest } = PASSWORD_LENGTHS;
  if (password.length < shortest || password.length > longest) {
    throw new ValueError(`The password on standard input must have ${shortest} to ${longest} characters.`);
  }
  return { name: flags.user, passwordHash: await hashPassword(password) };
}
