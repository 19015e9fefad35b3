import { ERRORS, type ErrorCode } from '@berth/protocol/errors';
import { z } from 'zod';
import { ACCESS, type Access, inputOf, isChanging, isStrict, type Route } from './route.ts';

/** Errors that any route may answer with. */
const COMMON_ERRORS: readonly ErrorCode[] = ['internal_error'];
const BODY_ERRORS: readonly ErrorCode[] = [
  'payload_too_large',
  'invalid_json',
  'validation_error',
  'store_unavailable',
];

const ACCESS_ERRORS: Readonly<Record<(typeof ACCESS)[Access]['class'], readonly ErrorCode[]>> = {
  public: [],
  client: [
    'host_not_allowed',
    'origin_not_allowed',
    'too_many_requests',
    'unauthorized',
    'csrf_rejected',
    'store_unavailable',
  ],
  admin: ['host_not_allowed', 'unauthorized', 'forbidden', 'csrf_rejected', 'store_unavailable'],
};

/** What shows who asks; `{}` is nothing. */
const SECURITY = {
  public: {},
  client: { security: [{}, { token: [] }, { session: [] }] },
  admin: { security: [{ token: [] }, { session: [] }, {}] },
} as const;

const WHO: Readonly<Record<Access, string>> = {
  public: 'Anyone may call this.',
  client:
    'Anyone who reaches the port may call this; where clients have to show who they are, whoever has a ' +
    'token, a session or a client certificate.',
  account:
    'Needs the token of any account, or a caller on the machine itself while the server is being set up.',
  operator:
    "Needs an operator's or an administrator's token, or a caller on the machine itself while the server " +
    'is being set up.',
  admin:
    "Needs an administrator's token, or a caller on the machine itself while the server is being set up.",
};

/** The OpenAPI document, made from the same table and the same schemas that serve the requests. */
export function describeApi(routes: readonly Route[], version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    for (const [index, path] of route.paths.entries()) {
      paths[path] = Object.fromEntries(
        route.methods.map((method) => [method.toLowerCase(), describeOperation(route, method, index)]),
      );
    }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Berth floating license server', version, license: { name: 'MIT' } },
    paths,
    components: {
      schemas: { Problem: problemSchema() },
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer' },
        basic: { type: 'http', scheme: 'basic' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: '__Host-berth',
          description:
            'With the header x-berth-csrf where something changes. Over plain HTTP it is called berth.',
        },
      },
    },
  };
}

function describeOperation(route: Route, method: string, index: number): object {
  const alias = index === 0 ? '' : `_alias${index}`;
  const verb = route.methods[0] === method ? '' : `_${method.toLowerCase()}`;
  const { query, body } = inputOf(route, method);
  return {
    operationId: `${route.name}${alias}${verb}`,
    summary: route.summary,
    description: index === 0 ? WHO[route.access] : `Alias of ${route.paths[0]}. ${WHO[route.access]}`,
    'x-class': ACCESS[route.access].class,
    'x-role': ACCESS[route.access].role,
    ...SECURITY[ACCESS[route.access].class],
    ...(route.name === 'auth' ? { security: [{ basic: [] }] } : {}),
    ...(query === undefined ? {} : { parameters: describeQuery(query) }),
    ...(body === undefined ? {} : { requestBody: describeBody(body, isStrict(route)) }),
    responses: { 200: describeAnswer(route), ...describeErrors(errorsOf(route)) },
  };
}

function errorsOf(route: Route): readonly ErrorCode[] {
  const takesBody = route.body !== undefined || (isStrict(route) && isChanging(route));
  const body = takesBody ? BODY_ERRORS : [];
  const takesQuery = route.query !== undefined || isStrict(route);
  const query = takesQuery ? (['validation_error', 'store_unavailable'] as const) : [];
  const access = ACCESS_ERRORS[ACCESS[route.access].class];
  const password: readonly ErrorCode[] = route.takesPassword === true ? ['tls_required'] : [];
  return [
    ...new Set<ErrorCode>([...access, ...password, ...body, ...query, ...route.errors, ...COMMON_ERRORS]),
  ];
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}

function describeQuery(schema: z.ZodObject): object[] {
  const { properties = {} } = jsonSchema(schema, 'output') as { properties?: Record<string, object> };
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: 'query',
    required: false,
    schema: property,
  }));
}

function describeBody(schema: z.ZodObject, isClosed: boolean): object {
  const { required: _, additionalProperties: __, ...object } = jsonSchema(schema, 'output');
  const closed = isClosed ? { additionalProperties: false } : {};
  return { required: false, content: { 'application/json': { schema: { ...object, ...closed } } } };
}

function describeAnswer({ answer }: Route): object {
  switch (answer.kind) {
    case 'json':
      return {
        description: 'Done.',
        content: { 'application/json': { schema: jsonSchema(answer.schema, 'output') } },
      };
    case 'text':
      return {
        description: 'Done.',
        content: { 'text/plain': { schema: { type: 'string', const: answer.example } } },
      };
    case 'lines':
    case 'events':
      return {
        description: answer.about,
        content: { [answer.kind === 'lines' ? 'application/jsonl' : 'text/event-stream']: {} },
      };
    case 'page':
      return { description: 'A page to read.' };
    case 'empty':
      return { description: 'Done. The body is empty.' };
  }
}

/** One response a status; its description lists the codes. */
function describeErrors(codes: readonly ErrorCode[]): Record<string, object> {
  const byStatus = Map.groupBy(codes, (code) => ERRORS[code].status);
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Problem' } } };
  return Object.fromEntries(
    [...byStatus].map(([status, list]) => [
      status,
      { description: list.map((code) => `${code}: ${ERRORS[code].title}.`).join(' '), content },
    ]),
  );
}

function problemSchema(): object {
  return {
    type: 'object',
    required: ['status', 'code', 'message'],
    properties: {
      status: { type: 'integer', description: 'the HTTP status' },
      code: { type: 'string', enum: Object.keys(ERRORS) },
      message: { type: 'string', description: 'what happened and what to do' },
    },
    additionalProperties: true,
  };
}
