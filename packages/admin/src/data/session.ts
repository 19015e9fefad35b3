import type { GetAnswer } from '@berth/protocol/admin/admin-api';
import type { Welcome } from '@berth/protocol/admin/session';
import { ApiError, get, post, setCsrfToken, whenSessionEnds } from './api.ts';
import { startLive, stopLive } from './live.ts';
import { forgetResources } from './resource.ts';
import { createValue } from './value.ts';

type Session = GetAnswer<'/api/admin/session'>;

/** Who is signed in; `undefined` until the server has said so. */
export const session = createValue<Session | null | undefined>(undefined);

/** Whether a session was there before, so that signing in can say why it is needed again. */
export const hasEnded = createValue(false);

whenSessionEnds(() => {
  if (session.get() === null) return;
  hasEnded.set(session.get() !== undefined);
  forget();
});

/** Finds out who is signed in. */
export async function loadSession(): Promise<void> {
  try {
    enter(await get('/api/admin/session'));
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    forget();
  }
}

export async function signIn(name: string, password: string): Promise<void> {
  const { csrf_token } = await post('/api/admin/session/start', { name, password });
  setCsrfToken(csrf_token);
  enter(await get('/api/admin/session'));
}

export async function signOut(): Promise<void> {
  await post('/api/admin/session/end').catch(() => {});
  hasEnded.set(false);
  forget();
}

/** The session stays; all others of the account end. */
export async function changePassword(passwordOld: string, passwordNew: string): Promise<void> {
  await post('/api/v4/setPassword', { password_old: passwordOld, password_new: passwordNew });
}

export function loadWelcome(): Promise<Welcome> {
  return get('/api/admin/welcome');
}

function enter(found: Session): void {
  setCsrfToken(found.csrf_token);
  hasEnded.set(false);
  session.set(found);
  if (found.role !== 'user' && !found.must_set_password) void startLive();
}

function forget(): void {
  stopLive();
  setCsrfToken(null);
  forgetResources();
  session.set(null);
}

/** Whether the account may change the server. Operators look, and release slots. */
export function isAdmin(): boolean {
  return session.get()?.role === 'admin';
}
