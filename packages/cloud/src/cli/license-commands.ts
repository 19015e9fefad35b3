import type { License } from '../core/license.ts';
import { ValueError } from '../core/read-values.ts';
import { isRefusal, type Refusal } from '../core/refusal.ts';
import { judgeLicense } from '../http/write-files.ts';
import { listDevices } from '../store/devices.ts';
import { loadTotals } from '../store/execute.ts';
import {
  changeLicense,
  createLicense,
  getLicense,
  listLicenses,
  resetLicense,
  setLicenseEnabled,
} from '../store/licenses.ts';
import { hashPassword } from '../store/passwords.ts';
import { type Call, type Command, UsageError } from './command.ts';
import { readDateOrNever, readTermsChange, TERMS_FLAGS } from './license-flags.ts';
import { presentLicenseFacts } from './present.ts';
import { type LicenseFacts, showLicense, showLicenses } from './show-license.ts';
import { formatFacts } from './terminal.ts';

const TERMS_USAGE = `[--type perpetual|time-limited|consumption|subscription]
      [--slots N] [--timeout MINUTES] [--borrow-hours N]
      [--starts-at DATE] [--valid-until DATE] [--grace-hours N]
      [--activations N | --unlimited-activations]
      [--consumptions N | --unlimited-consumptions] [--overages N] [--negative]
      [--period daily|weekly|monthly|annually] [--feature SPEC]… [--max-offline-days N]
      [--metadata JSON] [--company NAME] [--user NAME, with the password on standard input]`;

export const LICENSE_COMMANDS: readonly Command[] = [
  {
    words: 'license create',
    arguments: [],
    flags: ['product', 'key', ...TERMS_FLAGS],
    usage: `--product CODE [--key K] ${TERMS_USAGE}`,
    about: 'grant a license',
    run: runCreate,
    show: ({ license_key: key, id }: LicenseFacts) => formatFacts({ 'license key': key, id }),
  },
  {
    words: 'license list',
    arguments: [],
    flags: [],
    usage: '',
    about: 'the licenses',
    run: (call) => ({ licenses: listLicenses(call.shelf).map((license) => present(call, license)) }),
    show: showLicenses,
  },
  {
    words: 'license show',
    arguments: ['KEY'],
    flags: [],
    usage: '',
    about: 'one license with its features and devices',
    run: (call) => presentResult(call, getLicense(call.shelf, keyOf(call))),
    show: showLicense,
  },
  {
    words: 'license change',
    arguments: ['KEY'],
    flags: [...TERMS_FLAGS, 'without-feature', 'no-negative'],
    usage: '[the flags of create] [--without-feature CODE]… [--no-negative]',
    about: 'grant something else; --feature adds or replaces one',
    run: runChange,
    show: showLicense,
  },
  {
    words: 'license extend',
    arguments: ['KEY'],
    flags: ['until'],
    usage: '--until DATE|never',
    about: 'move the end',
    run: runExtend,
    show: showLicense,
  },
  {
    words: 'license disable',
    arguments: ['KEY'],
    flags: [],
    usage: '',
    about: 'servers stop lending it at their next check',
    run: (call) => presentResult(call, setLicenseEnabled(call.shelf, keyOf(call), false, call.now)),
    show: ({ license_key: key }: LicenseFacts) => `The license ${key} is disabled.`,
  },
  {
    words: 'license enable',
    arguments: ['KEY'],
    flags: [],
    usage: '',
    about: 'the opposite of disable',
    run: (call) => presentResult(call, setLicenseEnabled(call.shelf, keyOf(call), true, call.now)),
    show: ({ license_key: key }: LicenseFacts) => `The license ${key} is enabled.`,
  },
  {
    words: 'license reset',
    arguments: ['KEY'],
    flags: [],
    usage: '',
    about: 'take it from all its devices',
    run: (call) => presentResult(call, resetLicense(call.shelf, keyOf(call), call.now)),
    show: ({ license_key: key }: LicenseFacts) => `The license ${key} is on no device any more.`,
  },
];

function keyOf({ words }: Call): string {
  return words[0] as string;
}

function present({ shelf, now }: Call, license: License) {
  const devices = listDevices(shelf, license.id);
  return presentLicenseFacts({ license, totals: loadTotals(shelf, license, now), devices, now });
}

function presentResult(call: Call, result: License | Refusal) {
  return isRefusal(result) ? result : present(call, result);
}

async function runCreate(call: Call): Promise<unknown> {
  const { shelf, flags, now } = call;
  const { product } = flags;
  if (product === undefined) throw new UsageError('"cloud license create" needs --product CODE.');
  const terms = readTermsChange(flags);
  const user = await readUser(call);
  return presentResult(
    call,
    createLicense(shelf, { product, key: flags.key ?? null, user, terms }, now, judgeLicense),
  );
}

async function runChange(call: Call): Promise<unknown> {
  const terms = readTermsChange(call.flags);
  const user = await readUser(call);
  if (Object.keys(terms).length === 0 && user === null) {
    throw new UsageError('"cloud license change" needs a flag that says what changes.');
  }
  return presentResult(
    call,
    changeLicense(call.shelf, { key: keyOf(call), user, terms }, call.now, judgeLicense),
  );
}

function runExtend(call: Call): unknown {
  const { until } = call.flags;
  if (until === undefined)
    throw new UsageError('"cloud license extend" needs --until DATE, or --until never.');
  const terms = { validUntil: readDateOrNever('until', until) };
  return presentResult(
    call,
    changeLicense(call.shelf, { key: keyOf(call), user: null, terms }, call.now, judgeLicense),
  );
}

const PASSWORD_LENGTHS = { shortest: 8, longest: 1024 } as const;

async function readUser({ flags, readSecret }: Call): Promise<License['user']> {
  if (flags.user === undefined) return null;
  const password = await readSecret(`Password for ${flags.user}: `);
  const { shortest, longest } = PASSWORD_LENGTHS;
  if (password.length < shortest || password.length > longest) {
    throw new ValueError(`The password on standard input needs ${shortest} to ${longest} characters.`);
  }
  return { name: flags.user, passwordHash: await hashPassword(password) };
}
