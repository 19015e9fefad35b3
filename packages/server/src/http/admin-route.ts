import { CONFIRMATION, type Operation, type Operations } from '@berth/protocol/admin/operation';
import { json, type Reply } from '@berth/web/reply';
import type { z } from 'zod';
import type { Route, RouteInput } from './route.ts';

type Fields<S> = S extends z.ZodObject ? z.output<S> : Readonly<Record<string, never>>;

type Given<T> = T extends object ? { readonly [K in keyof T]: Given<T[K]> } : T;

type Answer<O extends Operation> = O extends { readonly answer: infer A } ? Given<z.input<A>> : never;

/** What a route adds to its operation, which the protocol describes. */
type AdminRoute<O extends Operation> = Pick<
  Route,
  | 'name'
  | 'access'
  | 'summary'
  | 'isForProducts'
  | 'headers'
  | 'takesPassword'
  | 'holdsFile'
  | 'isLong'
  | 'mustConfirm'
> &
  Partial<Pick<Route, 'errors'>> &
  (O extends { readonly answer: z.ZodType } ? AnswerForms : Pick<Route, 'answer'>) & {
    /** `send` makes the reply of an answer. */
    handle(
      input: Omit<RouteInput, 'query' | 'body'> & {
        readonly query: Fields<O['query']>;
        readonly body: Fields<O['body']>;
      },
      send: (answer: Answer<O>) => Reply,
    ): Promise<Reply> | Reply;
  };

type AnswerForms = Pick<Extract<Route['answer'], { kind: 'json' }>, 'csvToo' | 'textToo'>;

type UntypedRoute = Omit<AdminRoute<Operation>, 'answer'> & AnswerForms;

/** The routes of a subject of the admin API: one for each operation, whose types its handler has. */
export function adminRoutes<A extends Operations>(
  api: A,
  routes: { readonly [K in keyof A & keyof Operations]: AdminRoute<A[K]> },
): readonly Route[] {
  return Object.entries(routes).map(([key, route]) => {
    const { handle, csvToo, textToo, ...rest } = route as unknown as UntypedRoute;
    const { query, body: own, answer } = api[key as keyof Operations] as Operation;
    const body = rest.mustConfirm === undefined ? own : own?.extend(CONFIRMATION).meta({ ...own.meta() });
    const [method, path] = key.split(' ') as ['GET' | 'POST', string];
    return {
      answer: { kind: 'json', schema: answer, csvToo, textToo },
      errors: [],
      ...rest,
      methods: [method],
      paths: [path],
      ...(query === undefined ? {} : { query }),
      ...(body === undefined ? {} : { body }),
      handle: (input) => handle(input as never, json),
    } as Route;
  });
}
