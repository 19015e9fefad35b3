import { RequestError } from '@berth/protocol/request-error';
import { foldName } from '../../core/access/person.ts';
import type { Role } from '../../core/access/role.ts';
import type { Actor } from '../../core/nouns/actor.ts';
import type { Refused } from '../../core/outcome.ts';
import type { Absent, Person } from '../../providers/sign-in-provider.ts';
import type { AccountRecord } from '../../store/access-record.ts';
import type { Clock } from '../../store/clock.ts';
import type { Executed, Store } from '../../store/store.ts';
import { type Confirm, createConfirm } from './confirm.ts';
import type { DirectoryPeople } from './directory-people.ts';
import { checkPassword, hashPassword, makeOneTimePassword, requireGoodPassword } from './passwords.ts';
import { requireLimit } from './product-limit.ts';
import { createSecondFactors, type Owner, type SecondFactors } from './second-factors.ts';
import { createSignInThrottle, type SignInThrottle } from './sign-in-throttle.ts';
import { createTokens, hashToken, makeToken, type Tokens } from './tokens.ts';

/** The administrator that the first start creates. */
export const FIRST_ADMINISTRATOR = 'admin';

interface AccountsOptions extends Pick<Clock, 'readWall' | 'readMonotonicMs'> {
  /** Of scrypt, in tests of everything but passwords. */
  readonly passwordCost?: number | undefined;
  /** Who else may sign in; `null`: nobody. */
  readonly people?: DirectoryPeople | null;
  /** What people sign in with from other machines; `null`: also with accounts. */
  readonly elsewhere?: string | null;
}

interface SignInRequest {
  readonly name: string;
  readonly password: string;
  readonly address: string;
  readonly isBrowser?: boolean;
  /** Of the second factor, or a recovery code; `null`: none was sent. */
  readonly code?: string | null;
  /** Whether it comes from the machine itself. */
  readonly isHere?: boolean;
  /** The client has disconnected. */
  readonly signal?: AbortSignal;
}

interface PasswordChange {
  readonly account: string;
  readonly oldPassword: string;
  readonly newPassword: string;
  /** Of the second factor, or a recovery code; `null`: none was sent. */
  readonly code?: string | null;
  readonly address: string;
  /** The caller's token, which stays valid. */
  readonly keptToken: string | null;
  readonly signal?: AbortSignal;
}

/** A generated password, which is shown only once; `null` if it was given. */
interface PasswordSet {
  readonly kind: 'password_set';
  readonly oneTimePassword: string | null;
}

/** Accounts: a name, a password and a role. */
export interface Accounts {
  readonly tokens: Tokens;
  readonly secondFactors: SecondFactors;
  readonly confirm: Confirm;
  /**
   * Creates the administrator if there is none, and shows the one-time password. If several servers do so at
   * once, only one succeeds and shows it. If the server dies before it shows the password,
   * "berth user password admin" on its machine creates another one.
   */
  ensureAdministrator(show: (password: string) => void): Promise<void>;
  /**
   * Returns a new token, or `null` for a wrong name or password, in the same time for both if there is no
   * directory. An expired one-time password is rejected with what to do, and so are a person without a role
   * and an account whose second factor is missing.
   */
  signIn(request: SignInRequest): Promise<string | null>;
  /** Whether no administrator has replaced the generated password yet. */
  isBeingSetUp(): Promise<boolean>;
  list(): Promise<readonly AccountRecord[]>;
  /** Generates a password if none is given. */
  add(account: NewAccount, by: Actor): Promise<PasswordSet | Refused>;
  setPassword(account: string, password: string | null, by: Actor): Promise<PasswordSet | Refused>;
  /** Requires the old password, and a code if the account has a second factor. */
  changePassword(change: PasswordChange, by: Actor): Promise<Executed>;
  /** Without products, an operator is not limited any more. */
  setRole(account: string, wish: Pick<NewAccount, 'role' | 'products'>, by: Actor): Promise<Executed>;
  remove(account: string, by: Actor): Promise<Executed>;
}

interface NewAccount {
  readonly name: string;
  readonly role: Role;
  /** Missing: not limited. */
  readonly products?: readonly string[] | undefined;
  readonly password: string | null;
}

export function createAccounts(store: Store, options: AccountsOptions): Accounts {
  const tokens = createTokens(store, options.readMonotonicMs);
  const { execute } = tokens;
  const throttle = createSignInThrottle(options.readMonotonicMs);
  const { readWall, readMonotonicMs, people = null, elsewhere = null } = options;
  const judging = { store, throttle, cost: options.passwordCost, isOnlyHere: elsewhere !== null };
  const hash = (password: string) => hashPassword(password, options.passwordCost);
  const requirePassword = passwordCheck(judging);
  const secondFactors = createSecondFactors(store, { readWall, readMonotonicMs, execute, requirePassword });

  return {
    tokens,
    secondFactors,
    confirm: createConfirm(store, secondFactors, requirePassword),
    async ensureAdministrator(show) {
      if ((await store.read({ kind: 'list_accounts' })).length > 0) return;
      const { password, passwordHash } = makeOneTimePassword();
      const account = { name: FIRST_ADMINISTRATOR, role: 'admin', passwordHash, oneTime: true } as const;
      const outcome = await store.execute({ kind: 'create_account', ...account, by: 'server' });
      if (outcome.kind === 'done') show(password);
    },
    signIn: async (request) => {
      const { person, ...judged } = await judge(request, judging, people);
      if (person === null || people === null) {
        const token = await signIn(store, request, judged, secondFactors);
        if (token === null && elsewhere !== null && request.isHere !== true) throw onlyHere(elsewhere);
        return token;
      }
      const { address, isBrowser = false } = request;
      return people.admit(person, { address, isBrowser }, execute);
    },
    isBeingSetUp: async () => !(await store.read({ kind: 'is_set_up' })),
    list: () => store.read({ kind: 'list_accounts' }),
    async add({ name, role, products: wanted, password }, by) {
      requireGoodName(name);
      const products = requireLimit(role, wanted);
      const { oneTimePassword, passwordHash, oneTime } = await choosePassword(password, name, hash);
      const wish = { kind: 'create_account', name, role, products, passwordHash, oneTime, by } as const;
      return passwordSet(await execute(wish), oneTimePassword);
    },
    async setPassword(account, password, by) {
      const { oneTimePassword, passwordHash, oneTime } = await choosePassword(password, account, hash);
      const wish = { kind: 'set_password', account, passwordHash, oneTime, keptToken: null, by } as const;
      return passwordSet(await execute(wish), oneTimePassword);
    },
    async changePassword({ account, oldPassword, newPassword, code = null, keptToken, ...from }, by) {
      await requireGoodPassword(newPassword, account);
      const wrong = 'The old password is wrong. Nothing was changed.';
      const checkedHash = await requirePassword({ account, password: oldPassword, ...from }, wrong);
      if (oldPassword.normalize('NFC') === newPassword.normalize('NFC')) {
        throw new RequestError('validation_error', 'The new password must differ from the old one.');
      }
      const passwordHash = await hash(newPassword);
      const own = { account, passwordHash, oneTime: false, checkedHash, keptToken, by };
      return secondFactors.useCode(account, code, (sent) =>
        execute({ kind: 'set_password', ...own, code: sent }),
      );
    },
    setRole: async (account, { role, products }, by) =>
      execute({ kind: 'set_role', account, role, products: requireLimit(role, products), by }),
    remove: (account, by) => execute({ kind: 'remove_account', account, by }),
  };
}

/** Of somebody who has signed in. Returns the hash that the password matches; a wrong one is recorded. */
function passwordCheck(judging: Judging) {
  return async ({ account, ...owner }: Owner, wrong = WRONG_PASSWORD, confirms?: string) => {
    const { checkedHash } = await judge({ name: account, ...owner, isHere: true }, judging, null);
    if (checkedHash !== null) return checkedHash;
    const failed = { account, address: owner.address, tokenHash: null, checkedHash } as const;
    const what = confirms === undefined ? {} : { confirms };
    await judging.store.execute({ kind: 'sign_in', ...failed, ...what });
    throw new RequestError('invalid_credentials', wrong);
  };
}

type Hash = (password: string) => Promise<string>;

async function signIn(
  store: Store,
  request: SignInRequest,
  { checkedHash, reason }: Omit<Judgement, 'person'>,
  secondFactors: SecondFactors,
): Promise<string | null> {
  const { name: account, address, code = null, isBrowser = false } = request;
  const token = checkedHash === null ? null : makeToken();
  const tokenHash = token === null ? null : hashToken(token);
  const why = reason === null ? {} : { reason };
  const wish = { kind: 'sign_in', account, address, tokenHash, checkedHash, isBrowser, ...why } as const;
  // With a wrong password, a code must neither count nor tell whether there is a second factor.
  const counted = checkedHash === null ? null : code;
  const outcome = await secondFactors.useCode(account, counted, (sent) =>
    store.execute({ ...wish, code: sent }),
  );
  if (outcome.kind === 'refused') throw new RequestError(outcome.code, outcome.message);
  return outcome.kind === 'done' && outcome.count === 1 ? token : null;
}

interface Judging {
  readonly store: Store;
  readonly throttle: SignInThrottle;
  readonly cost: number | undefined;
  /** Accounts for people sign in only on the machine itself. */
  readonly isOnlyHere: boolean;
}

/** Whose password it is; both `null` for a wrong name or password. */
interface Judgement {
  /** The hash of the account that it matches. */
  readonly checkedHash: string | null;
  /** Why not even the right password would count, for the audit log. */
  readonly reason: string | null;
  /** Somebody in the directory. */
  readonly person: Person | null;
}

/** The directory is asked only about those who have no account: nobody there can take the place of one. */
async function judge(
  { name, password, address, isHere = false, signal }: SignInRequest,
  { store, throttle, cost, isOnlyHere }: Judging,
  people: DirectoryPeople | null,
): Promise<Judgement> {
  const attempt = throttle.begin(name, address, people === null ? null : foldName(name));
  let isRight: boolean | null = null;
  try {
    const account = await store.read({ kind: 'find_account', name });
    const hash = account?.passwordHash ?? null;
    const isKnown = await checkPassword(password, hash, address, signal, cost);
    // To a client elsewhere, the right password must look like a wrong one in every way.
    const isKeptOut = isOnlyHere && !isHere && account !== null && account.role !== 'user';
    const isOwn = isKnown && !isKeptOut;
    let found: Person | Absent | null = null;
    if (people !== null && hash === null && !(await hasAccount(store, name))) {
      attempt.askDirectory();
      // Whoever leaves before the answer has made the directory count a guess all the same.
      found = await people.find(name, password, signal).catch((error) => {
        if (signal?.aborted === true) isRight = false;
        throw error;
      });
    }
    const person = found !== null && 'subject' in found ? found : null;
    const absent = found !== null && 'absent' in found ? found.absent : null;
    isRight = isOwn || person !== null;
    const reason = absent ?? (isKnown && isKeptOut ? KEPT_OUT : null);
    return { checkedHash: isOwn ? hash : null, reason, person };
  } finally {
    // A request rejected by the queue or the disk was not a guess.
    attempt.end(isRight ?? 'unknown');
  }
}

const KEPT_OUT = 'The password was right, but this account can sign in only on the machine itself.';
const WRONG_PASSWORD = 'The password is wrong. Nothing was changed.';

function onlyHere(elsewhere: string): RequestError {
  return new RequestError(
    'unauthorized',
    "The name or the password is wrong, or it is an account that can sign in only on the server's machine " +
      `itself. From here, sign in with ${elsewhere}.`,
  );
}

/** Whether an account has the name, in whatever way a directory might read it. */
async function hasAccount(store: Store, name: string): Promise<boolean> {
  const folded = foldName(name);
  return (await store.read({ kind: 'list_accounts' })).some((account) => foldName(account.name) === folded);
}

async function choosePassword(given: string | null, account: string, hash: Hash) {
  if (given === null) {
    const { password: oneTimePassword, passwordHash } = makeOneTimePassword();
    return { oneTimePassword, passwordHash, oneTime: true };
  }
  await requireGoodPassword(given, account);
  return { oneTimePassword: null, passwordHash: await hash(given), oneTime: false };
}

function passwordSet(outcome: Executed, oneTimePassword: string | null): PasswordSet | Refused {
  return outcome.kind === 'refused' ? outcome : { kind: 'password_set', oneTimePassword };
}

/** Names in the audit log for callers without an account and for the server itself. */
const RESERVED_NAMES = new Set(['client', 'cloud', 'control', 'directory', 'local', 'server']);
const GOOD_NAME = /^[\p{L}\p{N}](?:[\p{L}\p{N}._@+-]{0,62}[\p{L}\p{N}])?$/u;

function requireGoodName(name: string): void {
  if (GOOD_NAME.test(name) && !RESERVED_NAMES.has(name.toLowerCase())) return;
  throw new RequestError(
    'validation_error',
    `"${name}" is not a valid account name. Use up to 64 letters, digits and . _ @ + - between them, ` +
      `but not ${[...RESERVED_NAMES].join(', ')}.`,
    { field: 'name' },
  );
}
