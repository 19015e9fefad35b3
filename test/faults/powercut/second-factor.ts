import { codeAt, stepAt } from '../../../packages/server/src/services/access/one-time-code.ts';
import { hashPassword } from '../../../packages/server/src/services/access/passwords.ts';
import { hashToken } from '../../../packages/server/src/services/access/tokens.ts';
import { openDataFolder } from '../../../packages/server/src/store/sqlite/data-folder.ts';
import { PASSWORD_COST } from '../../support/administrator.ts';
import type { Expected, Step } from './book.ts';
import type { Line } from './line.ts';
import type { Steps } from './steps.ts';

/** Only people have a second factor, and only with a session of their own. */
const ACCOUNT = 'keeper';
const PASSWORD = 'the password of a keeper';
const TOKEN = 'a-token-that-the-test-knows';
const SECRET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const KEY = `second factor ${ACCOUNT}`;

/** An account of a person who has signed in. */
export async function addKeeper(folder: string): Promise<void> {
  const masterKey = { value: null, file: null };
  const store = await openDataFolder({ folder, masterKey, onNotice: () => {}, useThreads: false });
  const account = { name: ACCOUNT, role: 'viewer' } as const;
  const passwordHash = await hashPassword(PASSWORD, PASSWORD_COST);
  const session = { tokenHash: hashToken(TOKEN), checkedHash: passwordHash, address: '127.0.0.1' };
  await store?.execute({ kind: 'create_account', ...account, passwordHash, oneTime: false, by: 'test' });
  await store?.execute({ kind: 'sign_in', account: ACCOUNT, ...session });
  await store?.close();
}

/** Each code must be of a later time than the one before: of the step before, this one, or after the cut. */
function readCode(stepsAgo: number): string {
  return codeAt(SECRET, stepAt(Date.now()) - stepsAgo);
}

/** A person who sets up a second factor, and turns it off. */
export function* useSecondFactor(): Steps {
  const shared = { key: KEY, headers: { authorization: `Bearer ${TOKEN}` } };
  const on: Pick<Step, 'mayBecome' | 'became'> = { mayBecome: () => 'on', became: () => 'on' };
  const off: typeof on = { mayBecome: () => null, became: () => null };
  const path = '/api/admin/second-factor';
  for (;;) {
    const set = { password: PASSWORD, secret: SECRET, code: readCode(1) };
    yield { ...shared, ...on, path: `${path}/confirm`, body: set };
    yield { ...shared, ...off, path: `${path}/remove`, body: { password: PASSWORD, code: readCode(0) } };
  }
}

/** The password alone is enough if it was turned off, and only then. With a code it always is. */
export async function checkSecondFactor(line: Line, { values }: Expected): Promise<readonly string[]> {
  const wanted = values[KEY] ?? [];
  if (wanted.length !== 1) return [];
  const isOn = wanted[0] === 'on';
  const authorization = `Basic ${Buffer.from(`${ACCOUNT}:${PASSWORD}`).toString('base64')}`;
  const signIn = async (headers: Readonly<Record<string, string>>) =>
    (await line.send({ path: '/auth', body: null, headers: { authorization, ...headers } })).status;
  const alone = await signIn({});
  const withCode = await signIn({ 'x-berth-code': readCode(0) });
  return [
    ...(alone === (isOn ? 401 : 200) ? [] : [`the password alone is answered with ${alone}`]),
    ...(withCode === 200 ? [] : [`the password with a code is answered with ${withCode}`]),
  ];
}
