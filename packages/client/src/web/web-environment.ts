import { MACHINE_CLOCKS } from '../clock.ts';
import type { Environment, ExitGuard, Storage, WireAnswer, WireRequest } from '../environment.ts';
import { BerthError } from '../errors.ts';

/** What all places with `fetch` share; browsers have nothing else. */
export function createWebEnvironment(): Environment {
  return {
    ...MACHINE_CLOCKS,
    random: () => Math.random(),
    createId,
    setTimer,
    checkTls: refuseTls,
    send: sendByFetch,
    storage: findLocalStorage() ?? createMemoryStorage(),
    host: { hostname: null, osUser: null, instance: null },
    findDevice: async () => null,
    guardExit: guardPage,
    reportError,
  };
}

/** `crypto.randomUUID` exists only on pages that came over TLS. */
export function createId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export function setTimer(delayMs: number, work: () => void, place: 'background' | 'foreground'): () => void {
  const timer: unknown = setTimeout(work, delayMs);
  if (place === 'background') (timer as { unref?: () => void }).unref?.();
  return () => clearTimeout(timer as number);
}

function refuseTls(): never {
  const advice = 'Leave out "ca", "cert" and "key", and install the certificates in the system.';
  throw new BerthError('invalid_option', 'A browser does not let pages choose certificates.', advice);
}

async function sendByFetch(request: WireRequest, keepalive = false): Promise<WireAnswer> {
  const { url, headers, timeoutMs, method = 'POST' } = request;
  const content = method === 'GET' ? { method } : { method, body: request.body };
  const signal = AbortSignal.timeout(Math.ceil(timeoutMs));
  const response = await fetch(url, { ...content, headers, signal, keepalive, redirect: 'error' });
  const header = (name: string) => response.headers.get(name);
  const text = await response.text();
  const [date, retryAfter] = [header('date'), header('retry-after')];
  return { status: response.status, text, date, retryAfter, applied: header('preference-applied') };
}

/** Where the application notices it, but later: the renewals go on. */
export function reportError(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

interface PageEvents {
  addEventListener?(name: 'pagehide', work: (event: { persisted: boolean }) => void): void;
  removeEventListener?(name: 'pagehide', work: (event: { persisted: boolean }) => void): void;
}

/** A page that is only hidden may come back, and goes on then. */
function guardPage(guard: ExitGuard): () => void {
  const page = globalThis as PageEvents;
  const work = ({ persisted }: { persisted: boolean }) => {
    const request = persisted ? null : guard.describeRelease();
    if (request !== null) void sendByFetch(request, true).catch(() => {});
  };
  page.addEventListener?.('pagehide', work);
  return () => page.removeEventListener?.('pagehide', work);
}

interface LocalStorage {
  readonly length: number;
  key(index: number): string | null;
  getItem(name: string): string | null;
  setItem(name: string, text: string): void;
  removeItem(name: string): void;
}

const NAMESPACE = 'berth:';

/** Returns null in workers, and where the user has forbidden it. */
function findLocalStorage(): Storage | null {
  try {
    const local = (globalThis as { localStorage?: LocalStorage }).localStorage;
    return local === undefined ? null : wrapLocalStorage(local);
  } catch {
    return null;
  }
}

function wrapLocalStorage(local: LocalStorage): Storage {
  const names = () => Array.from({ length: local.length }, (_, index) => local.key(index) ?? '');
  return {
    read: async (name) => local.getItem(NAMESPACE + name),
    write: async (name, text) => local.setItem(NAMESPACE + name, text),
    remove: async (name) => local.removeItem(NAMESPACE + name),
    list: async (prefix) =>
      names()
        .filter((name) => name.startsWith(NAMESPACE + prefix))
        .map((name) => name.slice(NAMESPACE.length))
        .sort(),
  };
}

/** Texts that are gone when the program ends. */
function createMemoryStorage(): Storage {
  const texts = new Map<string, string>();
  return {
    read: async (name) => texts.get(name) ?? null,
    write: async (name, text) => {
      texts.set(name, text);
    },
    remove: async (name) => {
      texts.delete(name);
    },
    list: async (prefix) => [...texts.keys()].filter((name) => name.startsWith(prefix)).sort(),
  };
}
