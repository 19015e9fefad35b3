import { RequestError } from '@berth/protocol/request-error';
import { foldName } from '../../core/access/person.ts';
import type { Role } from '../../core/access/role.ts';
import type { Actor } from '../../core/nouns/actor.ts';
import type { Refused } from '../../core/outcome.ts';
import type { Person } from '../../providers/sign-in-provider.ts';
import type { AccountRecord } from '../../store/query.ts';
import type { Executed, Store } from '../../store/store.ts';
import type { DirectoryPeople } from './directory-people.ts';
import { checkPassword, hashPassword, makeOneTimePassword, requireGoodPassword } from './passwords.ts';
import { requireLimit } from './product-limit.ts';
import { createSignInThrottle, type SignInThrottle } from './sign-in-throttle.ts';
import { createTokens, hashToken, makeToken, type Tokens } from './tokens.ts';

/** The administrator that the first start creates. */
export const FIRST_ADMINISTRATOR = 'admin';

interface AccountsOptions {
  readonly readMonotonicMs: () => number;
  /** Of scrypt, in tests of everything but passwords. */
  readonly passwordCost?: number | undefined;
  /** Who else may sign in; `null`: nobody. */
  readonly people?: DirectoryPeople | null;
}

interface SignInRequest {
  readonly name: string;
  readonly password: string;
  readonly address: string;
  readonly isBrowser?: boolean;
  /** The client has disconnected. */
  readonly signal?: AbortSignal;
}

interface PasswordChange {
  readonly account: string;
  readonly oldPassword: string;
  readonly newPassword: string;
  readonly address: string;
  /** The caller's token, which stays valid. */
  readonly keptToken: string | null;
  readonly signal?: AbortSignal;
}

/** A generated password, which is shown only once; `null` if it was given. */
export interface PasswordSet {
  readonly kind: 'password_set';
  readonly oneTimePassword: string | null;
}

/** Accounts: a name, a password and a role. */
export interface Accounts {
  readonly tokens: Tokens;
  /**
   * Creates the administrator if there is none, and shows the one-time password. If several servers do so at
   * once, only one succeeds and shows it. If the server dies before it shows the password,
   * "berth user password admin" on its machine creates another one.
   */
  ensureAdministrator(show: (password: string) => void): Promise<void>;
  /**
   * Returns a new token, or `null` for a wrong name or password, in the same time for both if there is no
   * directory. An expired one-time password is rejected with what to do, and so is a person without a role.
   */
  signIn(request: SignInRequest): Promise<string | null>;
  /** Whether no administrator has replaced the generated password yet. */
  isBeingSetUp(): Promise<boolean>;
  list(): Promise<readonly AccountRecord[]>;
  /** Generates a password if none is given. */
  add(account: NewAccount, by: Actor): Promise<PasswordSet | Refused>;
  setPassword(account: string, password: string | null, by: Actor): Promise<PasswordSet | Refused>;
  /** Requires the old password. */
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
  const throttle = createSignInThrottle(options.readMonotonicMs);
  const { people = null } = options;
  const judging = { store, throttle, cost: options.passwordCost };
  const check = async (request: SignInRequest) => (await judge(request, judging, null)).checkedHash;
  const hash = (password: string) => hashPassword(password, options.passwordCost);

  const { execute } = tokens;

  return {
    tokens,
    async ensureAdministrator(show) {
      if ((await store.read({ kind: 'list_accounts' })).length > 0) return;
      const { password, passwordHash } = makeOneTimePassword();
      const account = { name: FIRST_ADMINISTRATOR, role: 'admin', passwordHash, oneTime: true } as const;
      const outcome = await store.execute({ kind: 'create_account', ...account, by: 'server' });
      if (outcome.kind === 'done') show(password);
    },
    signIn: async (request) => {
      const { checkedHash, person } = await judge(request, judging, people);
      if (person === null || people === null) return signIn(store, request, checkedHash);
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
    async changePassword({ account, oldPassword, newPassword, keptToken, ...from }, by) {
      await requireGoodPassword(newPassword, account);
      const checkedHash = await check({ name: account, password: oldPassword, ...from });
      if (checkedHash === null) {
        const { address } = from;
        await store.execute({ kind: 'sign_in', account, address, tokenHash: null, checkedHash });
        throw new RequestError('invalid_credentials', 'The old password is wrong. Nothing was changed.');
      }
      if (oldPassword.normalize('NFC') === newPassword.normalize('NFC')) {
        throw new RequestError('validation_error', 'The new password must differ from the old one.');
      }
      const passwordHash = await hash(newPassword);
      const wish = { kind: 'set_password', account, passwordHash, oneTime: false } as const;
      return execute({ ...wish, checkedHash, keptToken, by });
    },
    setRole: async (account, { role, products }, by) =>
      execute({ kind: 'set_role', account, role, products: requireLimit(role, products), by }),
    remove: (account, by) => execute({ kind: 'remove_account', account, by }),
  };
}

type Hash = (password: string) => Promise<string>;

async function signIn(
  store: Store,
  request: SignInRequest,
  checkedHash: string | null,
): Promise<string | null> {
  const { name: account, address, isBrowser = false } = request;
  const token = checkedHash === null ? null : makeToken();
  const tokenHash = token === null ? null : hashToken(token);
  const wish = { kind: 'sign_in', account, address, tokenHash, checkedHash, isBrowser } as const;
  const outcome = await store.execute(wish);
  if (outcome.kind === 'refused') throw new RequestError(outcome.code, outcome.message);
  return outcome.kind === 'done' && outcome.count === 1 ? token : null;
}

interface Judging {
  readonly store: Store;
  readonly throttle: SignInThrottle;
  readonly cost: number | undefined;
}

/** Whose password it is; both `null` for a wrong name or password. */
interface Judgement {
  /** The hash of the account that it matches. */
  readonly checkedHash: string | null;
  /** Somebody in the directory. */
  readonly person: Person | null;
}

/** The directory is asked only about those who have no account: nobody there can take the place of one. */
async function judge(
  { name, password, address, signal }: SignInRequest,
  { store, throttle, cost }: Judging,
  people: DirectoryPeople | null,
): Promise<Judgement> {
  const attempt = throttle.begin(name, address, people === null ? null : foldName(name));
  let isRight: boolean | null = null;
  try {
    const hash = (await store.read({ kind: 'find_account', name }))?.passwordHash ?? null;
    const isOwn = await checkPassword(password, hash, address, signal, cost);
    let person: Person | null = null;
    if (people !== null && hash === null && !(await hasAccount(store, name))) {
      attempt.askDirectory();
      // Whoever leaves before the answer has made the directory count a guess all the same.
      person = await people.find(name, password, signal).catch((error) => {
        if (signal?.aborted === true) isRight = false;
        throw error;
      });
    }
    isRight = isOwn || person !== null;
    return { checkedHash: isOwn ? hash : null, person };
  } finally {
    // A request rejected by the queue or the disk was not a guess.
    attempt.end(isRight ?? 'unknown');
  }
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
