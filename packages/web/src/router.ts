import type { HttpRequest } from './http-request.ts';
import { problemReply, type TextReply } from './reply.ts';

/** Where a route is, and how it is called. */
export interface RoutePlace {
  readonly methods: readonly ('GET' | 'POST')[];
  /** The path, then its aliases. */
  readonly paths: readonly [string, ...string[]];
  /** Whether it receives a password, which is refused over plain HTTP if TLS is required. */
  readonly takesPassword?: boolean;
}

interface Found<R> {
  readonly path: string;
  /** All routes at this path: it may have one that reads and one that changes. */
  readonly here: readonly R[];
  readonly route: R | undefined;
  /** Whether the path supports the method. If not, `route` may still name what was called. */
  readonly isAllowed: boolean;
}

export interface Router<R> {
  find(request: HttpRequest): Found<R>;
  listAt(path: string): readonly R[];
}

export function createRouter<R extends RoutePlace>(routes: readonly R[]): Router<R> {
  const byPath = Map.groupBy(
    routes.flatMap((route) => route.paths.map((path) => ({ path, route }))),
    ({ path }) => path,
  );
  const listAt = (path: string) => (byPath.get(path) ?? []).map(({ route }) => route);
  return {
    listAt,
    find(request) {
      const { method } = request;
      const path = pathOf(request);
      const here = listAt(path);
      const route = here.find(({ methods }) => includesMethod(methods, method));
      const isAllowed = route !== undefined && (method !== 'HEAD' || takesHead(route));
      return { path, here, route, isAllowed };
    },
  };
}

/** Decoded, and without a trailing slash. */
function pathOf({ url }: HttpRequest): string {
  const path = url.split(/[?#]/, 1)[0] as string;
  const decoded = path.includes('%') ? decode(path) : path;
  return decoded.length > 1 && decoded.endsWith('/') ? decoded.slice(0, -1) : decoded;
}

function decode(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

function includesMethod(methods: RoutePlace['methods'], method: string): boolean {
  if (method === 'OPTIONS') return true;
  return methods.some((one) => one === (method === 'HEAD' ? 'GET' : method));
}

/** A HEAD must not change anything. A GET with an equivalent POST does. */
function takesHead({ methods, takesPassword }: RoutePlace): boolean {
  return methods.includes('GET') && !methods.includes('POST') && takesPassword !== true;
}

function listMethods(routes: readonly RoutePlace[]): readonly string[] {
  return routes.flatMap(({ methods }) => methods);
}

function allowHeader(routes: readonly RoutePlace[]): Readonly<Record<string, string>> {
  const head = routes.some(takesHead) ? ['HEAD'] : [];
  return { Allow: [...listMethods(routes), ...head, 'OPTIONS'].join(', ') };
}

/** Answers OPTIONS with the methods of a path. */
export function describeMethods(routes: readonly RoutePlace[]): TextReply {
  return { status: 204, body: '', type: 'text', headers: allowHeader(routes) };
}

export function refuseMethod(method: string, routes: readonly RoutePlace[]): TextReply {
  const message = `This path does not support ${method}. Use ${listMethods(routes).join(', ')}.`;
  return { ...problemReply('method_not_allowed', message, {}), headers: allowHeader(routes) };
}
