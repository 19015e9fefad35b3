import type { ErrorCode } from '@berth/protocol/errors';
import type { z } from 'zod';
import type { Caller, Peer } from './access/caller.ts';
import type { Reply } from './reply/reply.ts';

/**
 * Who may call a route: its class, and the least role where a role is asked for. Every route declares one.
 * `public`: anyone. `client`: anyone who reaches the port, or a user where clients have to show who they are.
 * `account`, `operator` and `admin`: of the class admin, for whoever has that role at least, and for the
 * local caller during setup.
 */
export const ACCESS = {
  public: { class: 'public', role: null },
  client: { class: 'client', role: 'user' },
  account: { class: 'admin', role: 'user' },
  operator: { class: 'admin', role: 'operator' },
  admin: { class: 'admin', role: 'admin' },
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
  'Admin: server': 'The state of the server.',
  'Admin: audit log': 'Recorded events.',
  'Admin: licensing cloud': 'Reports to the licensing cloud, and checks there.',
  'Admin: accounts': 'Accounts, tokens and sessions.',
  Server: 'Public information.',
} as const;

export type Tag = keyof typeof TAGS;

/** One operation of the API: its callers, its input, its answers and its handler. */
export interface Route {
  /** How the operation is called in the log and in the API document. */
  readonly name: string;
  readonly methods: readonly ('GET' | 'POST')[];
  /** The path, then its aliases. */
  readonly paths: readonly [string, ...string[]];
  readonly access: Access;
  readonly summary: string;
  /** Under which heading the API document has it; the route table says so. */
  readonly tag?: Tag;
  /** A route that has both takes its fields from the query of a GET and from the body of a POST. */
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  /** Headers that mean something to it alone. */
  readonly headers?: readonly ('Idempotency-Key' | 'Last-Event-ID')[];
  /** It is sent a password: not over plain HTTP where TLS is asked for. */
  readonly takesPassword?: boolean;
  /** The body is a file, which the handler reads: in a form, or as it is. */
  readonly takesFile?: boolean;
  /** A field of the body holds a whole license file, so the body may be as large as one. */
  readonly holdsFile?: boolean;
  readonly answer: AnswerShape;
  /** Refusals of its own, beside those that every route can answer with. */
  readonly errors: readonly ErrorCode[];
  handle(input: RouteInput): Promise<Reply> | Reply;
}

type AnswerShape =
  /** With `textToo`, whoever accepts plain text alone gets what it says. */
  | { readonly kind: 'json'; readonly schema: z.ZodType; readonly textToo?: string }
  | { readonly kind: 'text'; readonly example: string }
  /** A stream: one JSON object a line, or server-sent events. */
  | { readonly kind: 'lines' | 'events'; readonly about: string }
  | { readonly kind: 'page'; readonly type: 'text/html' | 'text/css' }
  | { readonly kind: 'empty' };

export interface RouteInput {
  readonly request: Request;
  readonly caller: Caller;
  readonly peer: Peer;
  /** Whether they might ask for the same now: what runs for long looks again. */
  isStillAllowed(): Promise<boolean>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What a route is written as: its handler knows the types of its own schemas. */
type TypedRoute<Q extends z.ZodObject, B extends z.ZodObject> = Omit<Route, 'query' | 'body' | 'handle'> & {
  readonly query?: Q;
  readonly body?: B;
  handle(
    input: Omit<RouteInput, 'query' | 'body'> & { readonly query: z.output<Q>; readonly body: z.output<B> },
  ): Promise<Reply> | Reply;
};

export function defineRoute<Q extends z.ZodObject = z.ZodObject, B extends z.ZodObject = z.ZodObject>(
  route: TypedRoute<Q, B>,
): Route {
  return route as unknown as Route;
}

/** A GET that has a POST beside it changes something. */
export function isChanging({ methods }: Pick<Route, 'methods'>): boolean {
  return methods.includes('POST');
}

/**
 * Berth's own routes refuse fields that they do not know and fields without a value: a slip of the finger in
 * an administrator's request must not do more than was meant. Those of the v4 API ignore them, since its
 * clients send more than it knows.
 */
export function isStrict({ paths }: Pick<Route, 'paths'>): boolean {
  return paths[0].startsWith('/api/admin/');
}

/** Where a request with this method carries its fields. */
export function inputOf({ query, body }: Route, method: string): RouteFields {
  if (query === undefined || body === undefined) return { query, body };
  return method === 'POST' ? { query: undefined, body } : { query, body: undefined };
}

interface RouteFields {
  readonly query: z.ZodObject | undefined;
  readonly body: z.ZodObject | undefined;
}
