import type { ErrorCode } from '@berth/protocol/errors';
import type { HttpRequest, Peer } from '@berth/web/http-request';
import { HTTP_LIMITS } from '@berth/web/limits';
import type { InputRules } from '@berth/web/read-input';
import type { Reply } from '@berth/web/reply';
import type { RoutePlace } from '@berth/web/router';
import type { z } from 'zod';
import type { Caller } from './access/caller.ts';

/**
 * Who may call a route: its class, and the lowest role if it requires one. Every route declares one.
 * `public`: anyone. `client`: anyone who reaches the port, or users if clients must authenticate. `account`:
 * class admin, for every account. `own`: the same, but only for people who have signed in to an account.
 * `password`: the same, but only for whoever has a password here to show: no API tokens, and nobody of a
 * provider or a directory.
 * `viewer`, `operator` and `admin`: class admin, for callers whose role includes that one, and for local
 * callers during setup. `monitor`: class admin, for every token; also for local callers or for anyone, as
 * `metrics.access` says.
 */
export const ACCESS = {
  public: { class: 'public', role: null },
  client: { class: 'client', role: 'user' },
  account: { class: 'admin', role: null },
  own: { class: 'admin', role: null },
  password: { class: 'admin', role: null },
  viewer: { class: 'admin', role: 'viewer' },
  operator: { class: 'admin', role: 'operator' },
  admin: { class: 'admin', role: 'admin' },
  monitor: { class: 'admin', role: null },
} as const;

export type Access = keyof typeof ACCESS;

/** The headings of the API document, in its order. */
export const TAGS = {
  Lending: 'Slots: register, heartbeat, borrow, return.',
  Consumption: 'Counting consumption.',
  Features: 'Slots of single features.',
  Licenses: 'The installed licenses.',
  Products: 'Adding and removing licenses at the licensing cloud.',
  'Offline licensing': 'Licenses for servers that cannot reach the licensing cloud.',
  Credentials: "The vendor's keys, and the administrator's password.",
  'Admin: slots': 'Who holds a slot; release and recall.',
  'Admin: rules': 'Who gets slots: rules and bars.',
  'Admin: server': 'The state of the server.',
  'Admin: history': 'What was lent, denied and consumed, and what would have been with other slots.',
  'Admin: audit log': 'Recorded events.',
  'Admin: licensing cloud': 'Reports to the licensing cloud, and checks there.',
  'Admin: accounts': 'Accounts, tokens and sessions.',
  Server: 'Public information.',
} as const;

export type Tag = keyof typeof TAGS;

/** One operation of the API: its callers, input, responses and handler. */
export interface Route extends RoutePlace {
  /** The name of the operation in the log and in the API document. */
  readonly name: string;
  readonly access: Access;
  readonly summary: string;
  /**
   * Whether operators who are limited to products may call it. They get the route of `listRoutesFor` in
   * `app.ts`, whose services see only those products. All other routes refuse them.
   */
  readonly isForProducts?: true;
  /** Its heading in the API document, from the route table. */
  readonly tag?: Tag;
  /** A route with both takes its fields from the query of a GET or the body of a POST. */
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  /** Headers that only this route uses. */
  readonly headers?: readonly ('Idempotency-Key' | 'Last-Event-ID' | 'Prefer' | 'X-Berth-Code')[];
  /** Whether the body is a file, sent in a form or directly. */
  readonly takesFile?: boolean;
  /** Whether a field of the body contains a whole file, so the body may be large. */
  readonly holdsFile?: boolean;
  /**
   * Whether somebody who has signed in has to show again who they are (`services/access/confirm.ts`); a
   * function: whether for this request. Its requests have the fields of `CONFIRMATION`.
   */
  readonly mustConfirm?: true | MustConfirm;
  /** Callers can make it last, so there are few places (`access/work-places.ts`). */
  readonly isLong?: true;
  readonly answer: AnswerShape;
  /** Its own refusals, in addition to those of every route. */
  readonly errors: readonly ErrorCode[];
  /** Refuses a request that names another store; called only if the body has a `store_id`. */
  readonly requireStore?: (storeId: unknown) => Promise<void>;
  handle(input: RouteInput): Promise<Reply> | Reply;
}

export type MustConfirm = (input: Pick<RouteInput, 'body' | 'caller'>) => boolean | Promise<boolean>;

type AnswerShape =
  | JsonAnswer
  /** Of a return: the bare word, or `leftAnswer` if the request has an `instance`. */
  | { readonly kind: 'text'; readonly example: string }
  /** A stream: one JSON object per line, server-sent events, or a file. */
  | { readonly kind: 'lines' | 'events' | 'bytes'; readonly about: string }
  | { readonly kind: 'page'; readonly type: PageType }
  | { readonly kind: 'metrics' }
  | { readonly kind: 'empty' };

/**
 * With `textToo`, clients that only accept plain text get the value it selects. With `csvToo`, those that
 * only accept CSV get the rows as a table. With `minimal`, those that prefer it get only its fields.
 */
interface JsonAnswer {
  readonly kind: 'json';
  readonly schema: z.ZodType;
  readonly textToo?: string;
  readonly csvToo?: true;
  readonly minimal?: z.ZodObject;
}

type PageType = 'text/html' | 'text/css' | 'text/javascript' | 'image/svg+xml';

export interface RouteInput {
  readonly request: HttpRequest;
  readonly caller: Caller;
  readonly peer: Peer;
  /** Whether the caller is still allowed to do this; long responses check again. */
  isStillAllowed(): Promise<boolean>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A route definition; its handler has the types of its schemas. */
type TypedRoute<Q extends z.ZodObject, B extends z.ZodObject> = Omit<
  Route,
  'methods' | 'paths' | 'query' | 'body' | 'handle' | 'errors'
> & {
  readonly errors?: Route['errors'];
  readonly query?: Q;
  readonly body?: B;
  handle(
    input: Omit<RouteInput, 'query' | 'body'> & { readonly query: z.output<Q>; readonly body: z.output<B> },
  ): Promise<Reply> | Reply;
};

/** Methods, a path and its aliases: `POST /api/v4/register /api/v4/floating/register`. */
type Place = `${'GET' | 'POST' | 'GET POST'} /${string}`;

export function defineRoute<Q extends z.ZodObject = z.ZodObject, B extends z.ZodObject = z.ZodObject>(
  place: Place,
  route: TypedRoute<Q, B>,
): Route {
  const words = place.split(' ');
  const methods = words.filter((word) => !word.startsWith('/'));
  const paths = words.slice(methods.length);
  return { errors: [], ...route, methods, paths } as unknown as Route;
}

/** A GET with an equivalent POST has side effects. */
export function isChanging({ methods }: Pick<Route, 'methods'>): boolean {
  return methods.includes('POST');
}

/**
 * Berth's own routes refuse unknown and empty fields: a typo in an administrator's request must not do more
 * than intended. Routes of the v4 API ignore them, because its clients send unknown fields.
 */
export function isStrict({ paths }: Pick<Route, 'paths'>): boolean {
  return paths[0].startsWith('/api/admin/');
}

/** What a request with this method may contain. */
export function inputOf(route: Route, method: string): InputRules {
  const { query, body, holdsFile } = route;
  const isEither = query !== undefined && body !== undefined;
  return {
    query: isEither && method === 'POST' ? undefined : query,
    body: isEither && method !== 'POST' ? undefined : body,
    isStrict: isStrict(route),
    bodyBytes: holdsFile === true ? HTTP_LIMITS.fileBodyBytes : HTTP_LIMITS.bodyBytes,
  };
}
