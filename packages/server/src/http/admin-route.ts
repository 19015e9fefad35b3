import { CONFIRMATION, type Operation, type Operations } from '@berth/protocol/admin/operation';
import { RequestError } from '@berth/protocol/request-error';
import { json, type Reply } from '@berth/web/reply';
import type { z } from 'zod';
import type { Refused } from '../core/outcome.ts';
import type { Executed } from '../services/lending/lending.ts';
import { refusalReply } from './reply/problem.ts';
import { defineRoute, type Route, type RouteInput } from './route.ts';

/** The fields of a query or a body; those that the operation requires are there. */
type Fields<S, O extends Operation> = S extends z.ZodObject
  ? z.output<S> & { readonly [K in keyof z.output<S> & Needed<O>]: NonNullable<z.output<S>[K]> }
  : Readonly<Record<string, never>>;

type Needed<O> = O extends { readonly required: readonly (infer Name)[] } ? Name : never;

type Given<T> = T extends object ? { readonly [K in keyof T]: Given<T[K]> } : T;

type Answer<O extends Operation> = O extends { readonly answer: infer A } ? Given<z.input<A>> : never;

/** An outcome can be the answer if that has nothing but a number: how many were affected. */
type Counted<A> = { readonly [K in keyof A]: Record<K, number> extends A ? Executed : never }[keyof A];

/** What a route adds to its operation, which the protocol describes. */
type AdminRoute<O extends Operation> = Omit<
  Route,
  'methods' | 'paths' | 'query' | 'body' | 'answer' | 'errors' | 'handle'
> &
  Partial<Pick<Route, 'errors'>> &
  (O extends { readonly answer: z.ZodType } ? AnswerForms : Pick<Route, 'answer'>) & {
    /** `send` makes the reply of an answer. */
    handle(
      input: Omit<RouteInput, 'query' | 'body'> & {
        readonly query: Fields<O['query'], O>;
        readonly body: Fields<O['body'], O>;
      },
      send: (answer: Answer<O>) => Reply,
    ): MaybePromise<Reply | Refused | Counted<Answer<O>>>;
  };

type MaybePromise<T> = Promise<T> | T;

type AnswerForms = Pick<Extract<Route['answer'], { kind: 'json' }>, 'csvToo' | 'textToo'>;

type UntypedRoute = Omit<AdminRoute<Operation>, 'answer' | 'handle'> &
  AnswerForms & {
    handle(input: RouteInput, send: typeof json): MaybePromise<Reply | Executed>;
  };

/** The routes of a subject of the admin API: one for each operation, whose types its handler has. */
export function adminRoutes<A extends Operations>(
  api: A,
  routes: { readonly [K in keyof A & keyof Operations]: AdminRoute<A[K]> },
): readonly Route[] {
  return Object.entries(routes).map(([key, route]) => {
    const { handle, csvToo, textToo, errors = [], ...rest } = route as unknown as UntypedRoute;
    const operation = api[key as keyof Operations] as Operation;
    const { query, body: own, answer, ...about } = operation;
    const body = rest.mustConfirm === undefined ? own : own?.extend(CONFIRMATION).meta({ ...own.meta() });
    const whole = {
      answer: { kind: 'json', schema: answer, csvToo, textToo },
      ...rest,
      errors: about.required === undefined ? errors : ['missing_parameters', ...errors],
      ...(query === undefined ? {} : { query: query.meta(about) }),
      ...(body === undefined ? {} : { body: body.meta(about) }),
      handle: async (input) => {
        requireFields(operation, input);
        const result = await handle(input, json);
        return 'kind' in result ? outcomeReply(result, operation) : result;
      },
    } as Route;
    return defineRoute(key as keyof Operations, whole);
  });
}

function requireFields({ query, body, required = [] }: Operation, input: RouteInput): void {
  const fields = { ...input.query, ...input.body };
  const missing = required.filter((name) => fields[name] === undefined);
  if (missing.length === 0) return;
  const shape = { ...query?.shape, ...body?.shape };
  const sentences = missing.map((name) => `"${name}" is missing: ${uncapitalized(shape[name])}`);
  throw new RequestError('missing_parameters', sentences.join(' '), { field: missing[0] as string });
}

/** The description of a field, as the end of a sentence. */
function uncapitalized(field: z.ZodType): string {
  const description = field.meta()?.description ?? '';
  return description.replace(/^[A-Z](?![A-Z])/, (letter) => letter.toLowerCase());
}

/** The refusal, or how many were affected. */
function outcomeReply(outcome: Executed, { answer }: Operation): Reply {
  if (outcome.kind === 'refused') return refusalReply(outcome);
  const [name = ''] = Object.keys((answer as z.ZodObject).shape);
  return json({ [name]: outcome.kind === 'done' ? outcome.count : 0 });
}
