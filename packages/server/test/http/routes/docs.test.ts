import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ERROR_CODES, ERRORS, type ErrorCode } from '@berth/protocol/errors';
import { resolve } from '../../../../../test/support/json-schema.ts';
import { FOREIGN, openTestApp } from '../../../../../test/support/test-app.ts';
import { errorsOf } from '../../../src/http/describe/openapi.ts';
import { ACCESS, inputOf, type Route, type RouteInput, TAGS } from '../../../src/http/route.ts';
import { docsRoutes } from '../../../src/http/routes/docs.ts';

interface Response {
  readonly $ref?: string;
  readonly description?: string;
  readonly content?: Readonly<Record<string, object>>;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly security?: readonly object[];
  readonly parameters?: readonly { readonly $ref?: string; readonly name: string; readonly in: string }[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: { $ref: string } }>>;
  };
  readonly responses: Readonly<Record<string, Response>>;
}

interface ApiDocument {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly enum?: readonly string[];
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** Errors from before routing. */
const BEFORE_ROUTES = [
  'not_implemented',
  'expectation_failed',
  'request_timeout',
  'headers_too_large',
  'not_found',
  'method_not_allowed',
];

/** Errors of the cloud's portal. */
const OF_THE_PORTAL = ['usage_file_invalid', 'server_key_not_approved', 'usage_file_outdated'];

async function readDocument(t: { after(work: () => unknown): void }) {
  const { get, routes } = await openTestApp(t, { licenses: [] });
  const { status, headers, body } = await get('/api/v4/openapi.json', { peer: FOREIGN });
  assert.equal(status, 200);
  assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
  return { document: body as unknown as ApiDocument, routes };
}

function listOperations({ paths }: ApiDocument): Operation[] {
  return Object.values(paths).flatMap((methods) => Object.values(methods));
}

/** All `$ref` values in a document. */
function listReferences(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    key === '$ref' ? [item as string] : listReferences(item),
  );
}

/** Resolves a reference; the fields next to it take precedence. */
function follow<T extends { readonly $ref?: string }>(document: ApiDocument, place: T): T {
  return place.$ref === undefined ? place : { ...(resolve(document, place.$ref) as T), ...place };
}

/** The fields of an object, including inherited ones. */
function fieldsOf(document: ApiDocument, schema: Schema): Readonly<Record<string, Schema>> {
  const { properties = {}, allOf = [] } = follow(document, schema);
  return Object.assign({}, properties, ...allOf.map((one) => fieldsOf(document, one)));
}

/** All field schemas in a document, by path. */
function listFields(schema: Schema, path: string): [string, Schema][] {
  const { properties = {}, anyOf = [], allOf = [], items } = schema;
  const own = Object.entries(properties).map(([name, field]): [string, Schema] => [`${path}.${name}`, field]);
  const inner = own.flatMap(([name, field]) => listFields(field, name));
  const parts = [...anyOf, ...allOf, ...(items === undefined ? [] : [items])];
  return [...own, ...inner, ...parts.flatMap((part) => listFields(part, path))];
}

/** A route with both takes its fields from the query of a GET and the body of a POST. */
function splitMethods(route: Route) {
  return route.methods.map((method) => ({
    ...route,
    ...inputOf(route, method),
    methods: [method],
    all: route.methods,
  }));
}

describe('the OpenAPI document', () => {
  test('has every path of every route with its methods, and no other', async (t) => {
    const { document, routes } = await readDocument(t);
    const expected = routes.flatMap(({ paths, methods }) =>
      paths.flatMap((path) => methods.map((method) => `${method.toLowerCase()} ${path}`)),
    );
    const actual = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method} ${path}`),
    );
    assert.deepEqual(actual.toSorted(), expected.toSorted());
    assert.equal(document.openapi, '3.1.0');
    assert.equal(document.info.version, '1.2.3');
  });

  test('gives every operation its own name, with a summary', async (t) => {
    const operations = listOperations((await readDocument(t)).document);
    assert.equal(new Set(operations.map(({ operationId }) => operationId)).size, operations.length);
    for (const { summary, operationId } of operations) assert.ok(summary.length > 0, operationId);
  });

  test('has no broken reference', async (t) => {
    const { document } = await readDocument(t);
    const references = listReferences(document);
    assert.ok(references.length > 0);
    for (const reference of references) assert.ok(resolve(document, reference) !== undefined, reference);
  });

  test('is small enough to be read', async (t) => {
    const { get } = await openTestApp(t, { licenses: [] });
    const { text } = await get('/api/v4/openapi.json');
    const perOperation = Buffer.byteLength(text) / listOperations(JSON.parse(text)).length;
    assert.ok(perOperation < 1930, String(perOperation));
  });

  test('names its schemas, sorts its operations and names the server', async (t) => {
    const { document } = await readDocument(t);
    const names = Object.keys(document.components.schemas);
    for (const name of ['License', 'Registration', 'Feature', 'Consumption', 'Problem', 'RegisterRequest']) {
      assert.ok(names.includes(name), name);
    }
    for (const name of names) assert.match(name, /^[A-Z][A-Za-z]+$/);
    assert.deepEqual(document.servers[0]?.url, '/');
    assert.deepEqual(
      document.tags.map(({ name }) => name),
      Object.keys(TAGS),
    );
    for (const { tags, operationId } of listOperations(document)) {
      assert.ok(tags.length === 1 && Object.hasOwn(TAGS, tags[0] as string), operationId);
    }
    assert.match(document.info.description, /`null` or blank text is not given/);
  });

  test('gives every field a type and a description, and the requests of applications examples', async (t) => {
    const { document } = await readDocument(t);
    const named = Object.entries(document.components.schemas);
    const fields = named.flatMap(([name, schema]) => listFields(schema, name));
    assert.ok(fields.length > 250, String(fields.length));
    for (const [path, field] of fields) {
      const { type, anyOf, description } = follow(document, field);
      assert.ok((type ?? anyOf) !== undefined, path);
      assert.match(description ?? '', /\S/, path);
    }
    const requests = named.filter(([name]) => name.endsWith('Request') && !name.startsWith('Admin'));
    assert.ok(requests.length >= 12, String(requests.length));
    for (const [name, { examples = [] }] of requests) assert.ok(examples.length > 0, name);
  });

  test('answers with codes of the registry only, each under its status', async (t) => {
    const { document } = await readDocument(t);
    const { Problem } = document.components.schemas;
    assert.deepEqual(Problem?.properties?.code?.enum, ERROR_CODES);
    for (const { operationId, responses } of listOperations(document)) {
      assert.ok(responses[200] !== undefined, operationId);
      for (const [status, response] of Object.entries(responses)) {
        if (status === '200' || status === '4XX') continue;
        const { description = '', content = {} } = follow(document, response);
        assert.deepEqual(Object.keys(content), ['application/json']);
        const codes = description.split(', ') as ErrorCode[];
        for (const code of codes) {
          const expected = ERRORS[code]?.status < 500 ? String(ERRORS[code]?.status) : '5XX';
          assert.equal(expected, status, `${operationId} ${code}`);
        }
      }
    }
  });

  test('lists every code of the registry, except those that no route answers with', async (t) => {
    const { routes } = await readDocument(t);
    const listed = new Set(
      routes.flatMap((route) => route.methods.flatMap((method) => errorsOf(route, method))),
    );
    assert.deepEqual(
      ERROR_CODES.filter((code) => !listed.has(code)),
      [...BEFORE_ROUTES, ...OF_THE_PORTAL],
    );
  });

  test('names the refusals, the fields and the credentials of a route', async (t) => {
    const { document, routes } = await readDocument(t);
    for (const route of routes.flatMap(splitMethods)) {
      const { paths, methods, all, errors, access, query, body, takesFile } = route;
      const operation = document.paths[paths[0]]?.[methods[0]?.toLowerCase() ?? ''] as Operation;
      const described = Object.values(operation.responses).map((one) => follow(document, one).description);
      const told = [
        ...errors,
        ...(ACCESS[access].class === 'admin'
          ? (['unauthorized', 'forbidden', 'csrf_rejected', 'store_unavailable'] as const)
          : []),
        'internal_error',
      ];
      const first = document.paths[paths[0]]?.[all[0]?.toLowerCase() ?? ''] as Operation;
      if (operation !== first)
        assert.equal(operation.description, `The same as ${all[0]} ${paths[0]}, which lists the codes.`);
      else for (const code of told) assert.ok(described.join(', ').split(', ').includes(code), code);
      const parameters = (operation.parameters ?? []).map((one) => follow(document, one));
      const inUrl = parameters.filter((one) => one.in === 'query').map(({ name }) => name);
      const both = query !== undefined && body === undefined ? inUrl.map(snakeCase) : inUrl;
      assert.deepEqual(new Set(both), new Set(Object.keys(query?.shape ?? {})));
      const sent = operation.requestBody?.content['application/json']?.schema;
      const inBody = sent === undefined ? [] : Object.keys(fieldsOf(document, sent));
      assert.deepEqual(new Set(inBody.map(snakeCase)), new Set(Object.keys(body?.shape ?? {})));
      assert.equal(operation.requestBody !== undefined, body !== undefined || takesFile === true);
      // Operations without `security` use the default, which is that of admin routes.
      const isForAdmins = ACCESS[access].class === 'admin' && access !== 'monitor';
      assert.equal(operation.security === undefined, isForAdmins);
    }
  });

  test('says where an error comes with the time to wait', async (t) => {
    const { document } = await readDocument(t);
    const waits = (path: string, status: string) =>
      'headers' in follow(document, document.paths[`/api/v4/${path}`]?.post?.responses[status] ?? {});
    for (const path of ['register', 'borrow', 'featureRegister']) assert.ok(waits(path, '400'), path);
    assert.deepEqual([waits('unregister', '400'), waits('add_consumption', '400')], [false, false]);
    assert.deepEqual([waits('register', '429'), waits('register', '5XX')], [true, true]);
    assert.equal(waits('register', '413'), false);
  });

  test('has answers that are not JSON under their own types', async (t) => {
    const { document } = await readDocument(t);
    const typesOf = (path: string, method: string) =>
      Object.keys(document.paths[path]?.[method]?.responses[200]?.content ?? {});
    for (const path of ['unregister', 'floating/unregister', 'featureRelease', 'feature_release']) {
      assert.deepEqual(typesOf(`/api/v4/${path}`, 'post'), ['text/plain', 'application/json'], path);
    }
    assert.deepEqual(typesOf('/api/v4/license/generate', 'post'), ['application/json', 'text/plain']);
    assert.deepEqual(typesOf('/api/v4/docs', 'get'), ['text/html']);
    assert.deepEqual(typesOf('/api/admin/events', 'get'), ['text/event-stream']);
  });

  test('has the file of an upload, the header of a count and the names of the keys', async (t) => {
    const { document } = await readDocument(t);
    const operation = (path: string, method: string) =>
      document.paths[`/api/v4/${path}`]?.[method] as Operation;
    const upload = Object.keys(operation('license/upload', 'post').requestBody?.content ?? {});
    assert.deepEqual(upload, ['multipart/form-data']);
    for (const path of ['add_consumption', 'add_feature_consumption']) {
      const [header] = operation(path, 'post').parameters ?? [];
      assert.equal(header?.$ref, '#/components/parameters/IdempotencyKey');
    }
    const inUrl = operation('setKeys', 'get').parameters?.map((one) => follow(document, one).name);
    assert.deepEqual(inUrl, ['apiKey', 'sharedKey']);
    const { schema } = operation('setKeys', 'post').requestBody?.content['application/json'] ?? {};
    assert.deepEqual(Object.keys(fieldsOf(document, schema as Schema)), ['api_key', 'shared_key']);
  });
});

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

describe('the page', () => {
  test('lists every path and every code, and runs no script', async (t) => {
    const { get, routes } = await openTestApp(t, { licenses: [] });
    const { status, headers, text } = await get('/api/v4/docs', { peer: FOREIGN });
    assert.equal(status, 200);
    assert.equal(headers.get('content-type'), 'text/html; charset=utf-8');
    for (const path of routes.flatMap(({ paths }) => paths)) {
      assert.ok(text.includes(`> ${path}</h3>`) || text.includes(`<code>${path}</code>`), path);
    }
    for (const code of ERROR_CODES) assert.ok(text.includes(`<code>${code}</code>`), code);
    assert.doesNotMatch(text, /<script|javascript:|\son\w+=|<style|style=/i);
  });

  test('says of every field what it is, and leads to every object and code that it names', async (t) => {
    const { get, routes } = await openTestApp(t, { licenses: [] });
    const { text } = await get('/api/v4/docs');
    const ids = new Set(Array.from(text.matchAll(/ id="([^"]+)"/g), ([, id]) => id));
    const links = Array.from(text.matchAll(/ href="#([^"]+)"/g), ([, link]) => link);
    assert.deepEqual(
      [...new Set(links)].filter((link) => !ids.has(link)),
      [],
    );
    for (const { name } of routes) assert.ok(links.includes(name), name);
    assert.match(text, /<code>user<\/code><\/th><td>string or null<\/td><td>The user: any text/);
    assert.match(text, /<code>passwordNew<\/code> <small>required<\/small>/);
    assert.match(text, /curl -X POST http:\/\/127\.0\.0\.1:8080\/api\/v4\/register \\\n/);
    assert.doesNotMatch(text, /undefined|\[object Object\]/);
  });

  test('loads nothing but its own style', async (t) => {
    const { get } = await openTestApp(t, { licenses: [] });
    const { text } = await get('/api/v4/docs');
    const loaded = Array.from(text.matchAll(/<(?:link|img|iframe)[^>]*(?:href|src)="([^"]*)"/g), (m) => m[1]);
    assert.deepEqual(loaded, ['/api/v4/docs.css']);
    const style = await get('/api/v4/docs.css');
    assert.equal(style.status, 200);
    assert.equal(style.headers.get('content-type'), 'text/css; charset=utf-8');
    assert.doesNotMatch(style.text, /url\(|@import/);
  });
});

test('the document and the page are generated once, however often they are requested', async () => {
  let written = 0;
  const routes = docsRoutes(() => {
    written += 1;
    return [];
  }, '1.2.3');
  const read = async (route: Route) => (await route.handle({} as RouteInput)).body;
  const first = await Promise.all(routes.map(read));
  assert.equal(written, 2);
  assert.deepEqual(await Promise.all(routes.map(read)), first);
  assert.equal(written, 2);
});
