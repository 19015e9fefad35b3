import { leftAnswer } from '@berth/protocol/api/lending';
import { ERRORS, type ErrorCode } from '@berth/protocol/errors';
import { HEADERS } from '@berth/web/reply';
import type { z } from 'zod';
import { ACCESS, type Access, isStrict, type Route, TAGS } from '../route.ts';
import { HEADER_PARAMETERS } from './header-parameters.ts';
import {
  type Answer,
  type ApiDocument,
  type Described,
  type DescribedInput,
  describeInput,
  type JsonSchema,
  jsonSchema,
  type NamedSchemas,
  type Operation,
  type RequestBody,
  withBases,
} from './openapi-schemas.ts';
import { pascal, shareParameters } from './share-parameters.ts';

/** Errors of all routes. */
const COMMON_ERRORS: readonly ErrorCode[] = ['bad_request', 'internal_error'];
const BODY_ERRORS: readonly ErrorCode[] = [
  'payload_too_large',
  'unsupported_media_type',
  'invalid_json',
  'validation_error',
  'store_unavailable',
];

const CONFIRM_ERRORS: readonly ErrorCode[] = [
  'tls_required',
  'confirmation_required',
  'second_factor_required',
  'invalid_credentials',
  'too_many_requests',
];

const ACCESS_ERRORS: Readonly<Record<(typeof ACCESS)[Access]['class'], readonly ErrorCode[]>> = {
  public: [],
  client: [
    'host_not_allowed',
    'origin_not_allowed',
    'too_many_requests',
    'unauthorized',
    'forbidden',
    'csrf_rejected',
    'store_unavailable',
  ],
  admin: ['host_not_allowed', 'unauthorized', 'forbidden', 'csrf_rejected', 'store_unavailable'],
};

/** The ways to authenticate; `{}`: none. */
const SECURITY = {
  public: [{}],
  client: [{}, { token: [] }, { session: [] }],
  admin: [{ token: [] }, { session: [] }, {}],
} as const;

const WHO: Readonly<Record<Access, string>> = {
  public: 'For anyone.',
  client: 'For applications.',
  account: 'For every account.',
  own: 'For people who have signed in to an account.',
  password: 'For every account; not for API tokens.',
  viewer: 'For viewers and higher roles.',
  operator: 'For operators and administrators.',
  admin: 'For administrators.',
  monitor: 'For every token, and for others as `metrics.access` says.',
};

/** `*`: also for operators who are limited to products, as the document says. */
function whoMayUse({ access, isForProducts }: Route): string {
  const isOfRole = ACCESS[access].class === 'admin' && ACCESS[access].role !== null;
  return isForProducts && isOfRole ? `${WHO[access]} *` : WHO[access];
}

const ABOUT = `Answers are JSON unless an operation says otherwise; every error is a \`Problem\`.

Under \`/api/v4\`, a field that is missing, \`null\` or blank text is not given, except where its schema says
otherwise. Unknown fields are ignored unless one looks like a misspelt count or date; numbers may be sent as
digits and flags as text. Under \`/api/admin\`, unknown fields, \`null\` and blank text are refused.

A body takes every field in camelCase, too, and in any case: \`licenseId\` is \`license_id\`. If both are
sent, the name that is listed counts.

What is for applications is for anyone, or where \`auth.clients\` is \`required\`, for whoever shows a token,
a session or a client certificate. During setup, a caller on the machine itself may do what administrators
may.

\`*\` means: operators who are limited to products may use it for these.

A slash behind a path is ignored. \`OPTIONS\` answers with the methods of a path.`;

/** Errors of all requests with fields. */
const FIELD_ERRORS = new Set<ErrorCode>(['bad_request', 'invalid_json', 'validation_error']);

/** Shared responses with their codes. The first one of a status also serves for other codes. */
const RESPONSES: Readonly<Record<string, readonly [status: StatusRange, ...codes: ErrorCode[]]>> = {
  BadRequest: ['400'],
  NoSlot: ['400', 'floating_not_available'],
  Unauthorized: ['401', 'unauthorized'],
  Forbidden: ['403', 'host_not_allowed', 'forbidden', 'csrf_rejected'],
  ForbiddenToPage: ['403', 'host_not_allowed', 'origin_not_allowed', 'csrf_rejected'],
  TooLarge: ['413', 'payload_too_large'],
  Unreadable: ['415', 'unsupported_media_type'],
  TooMany: ['429', 'too_many_requests'],
  Failure: ['5XX', 'store_unavailable', 'internal_error'],
  CloudFailure: ['5XX', 'store_unavailable', 'cloud_unavailable', 'internal_error'],
};

type StatusRange = '400' | '401' | '403' | '413' | '415' | '429' | '5XX';

/** Shared parts, collected while describing the operations. */
interface Shared {
  readonly schemas: NamedSchemas;
  readonly parameters: Record<string, Described>;
}

/** The OpenAPI document, made from the routes and schemas that serve the requests. */
export function describeApi(routes: readonly Route[], version: string): ApiDocument {
  const shared: Shared = { schemas: { Problem: problemSchema() }, parameters: { ...namedHeaders() } };
  const paths: Record<string, Record<string, Operation>> = {};
  for (const route of routes) {
    for (const [index, path] of route.paths.entries()) {
      const operations = route.methods.map((method) => [
        method.toLowerCase(),
        describeOperation(route, method, index, shared),
      ]);
      paths[path] = { ...paths[path], ...Object.fromEntries(operations) };
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Berth floating license server',
      version,
      description: ABOUT,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'The server that this document comes from' }],
    security: SECURITY.admin,
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: shareParameters(paths, shared.parameters),
    components: {
      ...shared,
      schemas: withBases(shared.schemas),
      responses: sharedResponses(),
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

const SECURITY_SCHEMES = {
  token: { type: 'http', scheme: 'bearer', description: 'From `/auth`, or created by an administrator.' },
  basic: { type: 'http', scheme: 'basic', description: 'The name and the password of an account.' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-berth',
    description: 'Changes also need the header x-berth-csrf. Over plain HTTP the cookie is called berth.',
  },
} as const;

function describeOperation(route: Route, method: string, index: number, shared: Shared): Operation {
  const alias = index === 0 ? '' : '_alias';
  const verb = route.methods[0] === method ? '' : `_${method.toLowerCase()}`;
  const isRepeated = index > 0 || verb !== '';
  const parameters = describeParameters(route, method, shared);
  const body = describeBody(route, method, shared);
  return {
    operationId: `${route.name}${alias}${verb}`,
    ...(route.tag === undefined ? {} : { tags: [route.tag] }),
    summary: route.summary,
    description: isRepeated
      ? `The same as ${route.methods[0]} ${route.paths[0]}, which lists the codes.`
      : whoMayUse(route),
    ...describeSecurity(route),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === null ? {} : { requestBody: body }),
    responses: {
      200: describeAnswer(route, shared),
      ...(isRepeated ? REPEATED_ERRORS : describeErrors(errorsOf(route, method))),
    },
  };
}

/** What differs from the rest, which is for administrators. */
function describeSecurity({ name, access }: Route): object {
  if (name === 'auth') return { security: [{ basic: [] }] };
  if (access === 'monitor') return { security: SECURITY.client };
  const { class: kind } = ACCESS[access];
  return kind === 'admin' ? {} : { security: SECURITY[kind] };
}

/** All errors of a request with this method. */
export function errorsOf(route: Route, method: string): readonly ErrorCode[] {
  const takesBody = method === 'POST' && (route.body !== undefined || isStrict(route));
  const body = takesBody ? BODY_ERRORS : [];
  const takesQuery = route.query !== undefined || isStrict(route);
  const query = takesQuery ? (['validation_error', 'store_unavailable'] as const) : [];
  const headers = route.headers === undefined ? [] : (['validation_error'] as const);
  const confirming = route.mustConfirm === undefined ? [] : CONFIRM_ERRORS;
  const access = [...ACCESS_ERRORS[ACCESS[route.access].class], ...confirming];
  const password = route.takesPassword === true ? (['host_not_allowed', 'tls_required'] as const) : [];
  const all = [...access, ...password, ...body, ...query, ...headers, ...route.errors, ...COMMON_ERRORS];
  return [...new Set<ErrorCode>(all)];
}

function describeParameters(route: Route, method: string, shared: Shared): Described[] {
  const headers = (route.headers ?? []).map((name) => refer('parameters', pascal(name)));
  const query = describeInput(route, method, 'query', shared.schemas);
  if (query === null) return headers;
  const parameters = Object.entries(query.properties).map(([name, { description, ...schema }]) => {
    const isRequired = query.required.includes(name);
    return { name, in: 'query', ...(isRequired ? { required: true } : {}), description, schema };
  });
  return [...headers, ...parameters];
}

function describeBody(route: Route, method: string, shared: Shared): RequestBody | null {
  if (route.takesFile === true) return FILE_BODY;
  const input = describeInput(route, method, 'body', shared.schemas);
  if (input === null) return null;
  const name = `${pascal(route.name)}Request`;
  shared.schemas[name] ??= bodySchema(input, isStrict(route));
  const schema = refer('schemas', name);
  return {
    ...(input.required.length > 0 ? { required: true } : {}),
    content: { 'application/json': { schema } },
  };
}

function bodySchema({ properties, required, about }: DescribedInput, isClosed: boolean): JsonSchema {
  return {
    type: 'object',
    ...about,
    ...(required.length === 0 ? {} : { required }),
    properties,
    ...(isClosed ? { additionalProperties: false } : {}),
  };
}

/** Only the form: generators of clients fail on plain text, and on a choice between types. */
const FILE_BODY = {
  required: true,
  description: 'A form: its first file counts, whatever its field is called. The bare file is accepted, too.',
  content: {
    'multipart/form-data': {
      schema: {
        type: 'object',
        required: ['file'],
        properties: { file: { type: 'string', format: 'binary', description: 'The license file.' } },
      },
    },
  },
};

function describeAnswer(route: Route, shared: Shared): Answer {
  const { answer } = route;
  switch (answer.kind) {
    case 'json': {
      const schema = answerSchema(`${pascal(route.name)}Answer`, answer.schema, shared);
      const json = { 'application/json': { schema } };
      if (answer.csvToo === true) {
        const content = { ...json, 'text/csv': { schema: { type: 'string' } } };
        return { description: 'Done. With `Accept: text/csv`, the rows as a table.', content };
      }
      if (answer.minimal !== undefined) {
        const minimal = jsonSchema(answer.minimal, 'output', shared.schemas);
        const description = 'Done. With `Prefer: return=minimal`, a `MinimalRegistration`.';
        return { description, content: { 'application/json': { schema: { anyOf: [schema, minimal] } } } };
      }
      if (answer.textToo === undefined) return { description: 'Done.', content: json };
      const description = `Done. With \`Accept: text/plain\`, ${answer.textToo} itself.`;
      return { description, content: { ...json, 'text/plain': { schema: { type: 'string' } } } };
    }
    case 'text':
      return {
        description: 'The bare word, whatever `Accept` says; JSON if `instance` was sent.',
        content: {
          'text/plain': { schema: { type: 'string', const: answer.example }, example: answer.example },
          'application/json': { schema: jsonSchema(leftAnswer, 'output', shared.schemas) },
        },
      };
    case 'lines':
    case 'events':
    case 'bytes': {
      const [type = ''] = HEADERS[answer.kind]['Content-Type'].split(';');
      return { description: answer.about, content: { [type]: { schema: { type: 'string' } } } };
    }
    case 'page':
      return { description: 'A page to read.', content: { [answer.type]: { schema: { type: 'string' } } } };
    case 'metrics':
      return { description: 'The metrics.', content: { 'text/plain': { schema: { type: 'string' } } } };
    case 'empty':
      return { description: 'Done. The body is empty.' };
  }
}

/** References a schema by its name, or by that of the operation. */
function answerSchema(name: string, schema: z.ZodType, { schemas }: Shared): JsonSchema {
  const made = jsonSchema(schema, 'output', schemas);
  if (made.type !== 'object') return made;
  schemas[name] = made;
  return refer('schemas', name);
}

/** One response per status. If it differs from the shared one, its description lists the codes. */
function describeErrors(codes: readonly ErrorCode[]): Record<string, object> {
  const byStatus = Map.groupBy(codes, (code) => (ERRORS[code].status < 500 ? ERRORS[code].status : '5XX'));
  const refusals = [...byStatus].map(
    ([status, list]) => [status, describeRefusal(String(status), list)] as const,
  );
  return Object.fromEntries(refusals);
}

/** The errors of an alias are listed with the main path. */
const REPEATED_ERRORS = { '4XX': refer('responses', 'Refusal'), '5XX': refer('responses', 'Failure') };

function describeRefusal(status: string, codes: readonly ErrorCode[]) {
  const own = codes.filter((code) => !FIELD_ERRORS.has(code));
  const ofStatus = Object.entries(RESPONSES).filter(([, [one]]) => one === status);
  const same = ofStatus.find(([, [, ...shared]]) => String(shared.toSorted()) === String(own.toSorted()));
  if (same !== undefined) return refer('responses', same[0]);
  const isPart = (shared: readonly ErrorCode[]) =>
    shared.length > 0 && shared.every((code) => own.includes(code));
  const [name] = ofStatus.find(([, [, ...shared]]) => isPart(shared)) ?? ofStatus[0] ?? [];
  if (name === undefined) throw new Error(`No response of the API document has the status ${status}.`);
  return { ...refer('responses', name), description: own.join(', ') };
}

function sharedResponses(): Record<string, object> {
  const content = { 'application/json': { schema: refer('schemas', 'Problem') } };
  const retry = { 'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } } };
  const refusal = { description: 'See the operation of which this one is an alias.', content };
  const responses = Object.fromEntries(
    Object.entries(RESPONSES).map(([name, [status, ...codes]]) => [
      name,
      {
        description: (status === '400' ? [...FIELD_ERRORS] : codes).join(', '),
        ...(codes.some((code) => ERRORS[code].retryable) ? { headers: retry } : {}),
        content,
      },
    ]),
  );
  return { Refusal: refusal, ...responses };
}

function namedHeaders(): Record<string, Described> {
  return Object.fromEntries(
    Object.entries(HEADER_PARAMETERS).map(([name, parameter]) => [pascal(name), parameter]),
  );
}

function problemSchema(): JsonSchema {
  return {
    type: 'object',
    description: 'Why a request was refused. Facts about the case may follow.',
    required: ['status', 'code', 'message'],
    properties: {
      status: { type: 'integer', description: 'The HTTP status.' },
      code: {
        type: 'string',
        description: 'What happened, for programs. `/api/v4/docs` lists what each means.',
        enum: Object.keys(ERRORS),
      },
      message: { type: 'string', description: 'What happened and what to do, for people.' },
      field: { type: 'string', description: 'The invalid field, if there is one.' },
    },
    additionalProperties: true,
    examples: [
      {
        status: 400,
        code: 'floating_not_available',
        message: 'All 5 slots are in use.',
        slots: 5,
        in_use: 5,
        next_free_at: '2026-09-27T23:30:48.016Z',
      },
    ],
  };
}

function refer(kind: 'schemas' | 'parameters' | 'responses', name: string): { readonly $ref: string } {
  return { $ref: `#/components/${kind}/${name}` };
}
