import type { Operation, Operations } from '@berth/protocol/admin/operation';
import { json, type Reply } from '@berth/web/reply';
import type { z } from 'zod';
import type { Route, RouteInput } from './route.ts';

type Fields<S> = S extends z.ZodObject ? z.output<S> : Readonly<Record<string, never>>;

type Given<T> = T extends object ? { readonly [K in keyof T]: Given<T[K]> } : T;

type Answer<O extends Operation> = O extends { readonly answer: infer A } ? Given<z.input<A>> : never;

/** What a route adds to its operation, which the protocol describes. */
type AdminRoute<O extends Operation> = Pick<
  Route,
  'name' | 'access' | 'summary' | 'errors' | 'headers' | 'takesPassword' | 'holdsFile'
> &
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

/** A route of the admin API: its handler has the types of its operation. */
export function adminRoute<A extends Operations, K extends keyof A & keyof Operations>(
  api: A,
  key: K,
  { handle, csvToo, textToo, ...route }: AdminRoute<A[K]> & AnswerForms,
): Route {
  const { query, body, answer } = api[key] as Operation;
  const [method, path] = key.split(' ') as ['GET' | 'POST', string];
  return {
    answer: { kind: 'json', schema: answer, csvToo, textToo },
    ...route,
    methods: [method],
    paths: [path],
    ...(query === undefined ? {} : { query }),
    ...(body === undefined ? {} : { body }),
    handle: (input) => handle(input as never, json),
  } as Route;
}
