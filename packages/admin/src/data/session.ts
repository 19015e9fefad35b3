import type { GetAnswer, OperationKey } from '@berth/protocol/admin/admin-api';
import type { Welcome } from '@berth/protocol/admin/session';
import { ApiError, get, post, setCsrfToken, toApiError, whenSessionEnds } from './api.ts';
import { startLive, stopLive } from './live.ts';
import { forgetResources } from './resource.ts';
import { replaceAddress } from './route.ts';
import { keep, readKept } from './theme.ts';
import { createValue, useValue } from './value.ts';

type Session = GetAnswer<'/api/admin/session'>;

/** Who is signed in; `undefined` until the server has said so. */
export const session = createValue<Session | null | undefined>(undefined);

/** Whether a session was there before, so that signing in can say why it is needed again. */
export const hasEnded = createValue(false);

/** The account that is signed in, for the other tabs: all of them share the session, which is a cookie. */
const NAME = 'berth-session';

addEventListener('storage', ({ key }) => {
  if (key === NAME) loadSession().catch(() => {});
});

/** Whether this browser had a session when it was last here, so that the page can open as it will be. */
export function hadSession(): boolean {
  return Boolean(readKept(NAME));
}

whenSessionEnds(() => {
  if (session.get() === null) return;
  hasEnded.set(session.get() !== undefined);
  forget();
});

/** Finds out who is signed in. */
export async function loadSession(): Promise<void> {
  await finishSignIn();
  try {
    enter(await get('/api/admin/session'));
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    forget();
  }
}

/** `code`: of the second factor, for those who have one. */
export async function signIn(name: string, password: string, code?: string): Promise<void> {
  const second = code === undefined ? {} : { code };
  const { csrf_token } = await post('/api/admin/session/start', { name, password, ...second });
  setCsrfToken(csrf_token);
  enter(await get('/api/admin/session'));
}

/** Why the provider did not sign in whoever has just come back from it. */
export const providerFault = createValue<ApiError | null>(null);

/** Where the page will be after it was left for the provider: the part behind the `#`. */
const LEFT_AT = 'berth-left-at';

/** The provider sends the browser back there. */
function findOwnAddress(): string {
  return location.origin + location.pathname;
}

/** Leaves for the provider. `place`: where the page will be afterwards. `anew`: it has to ask who it is. */
export async function beginSignIn(place: string, anew = false): Promise<void> {
  const { url } = await post('/api/admin/session/provider', { page: findOwnAddress(), anew });
  keep(LEFT_AT, place);
  if (url !== null) location.assign(url);
}

/** If the provider has just sent the browser back. Its answer counts once, so the address forgets it. */
async function finishSignIn(): Promise<void> {
  const answer = location.search.slice(1);
  if (!new URLSearchParams(answer).has('state')) return;
  const place = readKept(LEFT_AT) ?? '';
  keep(LEFT_AT, '');
  replaceAddress(location.pathname + (place.startsWith('#') ? place : ''));
  try {
    await post('/api/admin/session/provider', { page: findOwnAddress(), answer });
  } catch (failure) {
    providerFault.set(toApiError(failure));
  }
}

/** Throws if the server does not answer: the session would go on. */
export async function signOut(): Promise<void> {
  const ended = await post('/api/admin/session/end').catch((error: ApiError) => {
    if (error.status === 0) throw error;
  });
  hasEnded.set(false);
  forget();
  if (ended?.url == null) return;
  const there = new URL(ended.url);
  there.searchParams.set('post_logout_redirect_uri', findOwnAddress());
  location.assign(there.href);
}

/** The session stays; all others of the account end. */
export async function changePassword(old: string, fresh: string, code?: string): Promise<void> {
  const second = code === undefined ? {} : { code };
  await post('/api/v4/setPassword', { password_old: old, password_new: fresh, ...second });
}

/** What the server says of itself to everybody; `null` until it has. */
export const welcome = createValue<Welcome | null>(null);

export async function loadWelcome(): Promise<void> {
  welcome.set(await get('/api/admin/welcome'));
}

/** What the page is called. */
export function usePageName(): string {
  return useValue(welcome)?.name || 'Berth';
}

function enter(found: Session): void {
  // Another account may see less.
  if (session.get()?.name !== found.name) forgetResources();
  keep(NAME, found.name);
  setCsrfToken(found.csrf_token);
  hasEnded.set(false);
  providerFault.set(null);
  session.set(found);
  if (may('GET /api/admin/events')) void startLive();
}

function forget(): void {
  stopLive();
  keep(NAME, '');
  setCsrfToken(null);
  forgetResources();
  session.set(null);
}

/** Whether the account may use an operation. Controls that would be refused are not shown. */
export function may(operation: OperationKey): boolean {
  return session.get()?.operations.includes(operation) ?? false;
}
