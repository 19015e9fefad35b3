import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ERROR_CODES, ERRORS, type ErrorCode } from '@berth/protocol/errors';
import { FOREIGN, openTestApp } from '../../../../../test/support/test-app.ts';
import { ACCESS, inputOf, type Route, type RouteInput } from '../route.ts';
import { docsRoutes } from './docs.ts';

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly security?: readonly object[];
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: object } } };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: object }>>;
}

interface ApiDocument {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: { readonly Problem: { readonly properties: { readonly code: { enum: string[] } } } };
  };
}

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

/** Every `$ref` anywhere inside. */
function listReferences(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    key === '$ref' ? [item as string] : listReferences(item),
  );
}

function resolve(document: unknown, reference: string): unknown {
  assert.match(reference, /^#\//);
  const steps = reference.slice(2).split('/');
  return steps.reduce<unknown>((value, step) => (value as Record<string, unknown>)?.[step], document);
}

/** A route that has both takes its fields from the query of a GET and from the body of a POST. */
function splitMethods(route: Route) {
  return route.methods.map((method) => ({ ...route, ...inputOf(route, method), methods: [method] }));
}

describe('the OpenAPI document', () => {
  test('has every path of every route with its methods, and no other', async (t) => {
    const { document, routes } = await readDocument(t);
    const expected = routes.flatMap(({ paths, methods }) =>
      paths.map((path) => [path, methods.map((method) => method.toLowerCase())] as const),
    );
    const actual = Object.entries(document.paths).map(([path, item]) => [path, Object.keys(item)] as const);
    assert.deepEqual(actual.toSorted(), expected.toSorted());
    assert.equal(document.openapi, '3.1.0');
    assert.equal(document.info.version, '1.2.3');
  });

  test('calls every operation by a name of its own, with a summary', async (t) => {
    const operations = listOperations((await readDocument(t)).document);
    assert.equal(new Set(operations.map(({ operationId }) => operationId)).size, operations.length);
    for (const { summary, operationId } of operations) assert.ok(summary.length > 0, operationId);
  });

  test('has no reference that leads nowhere', async (t) => {
    const { document } = await readDocument(t);
    const references = listReferences(document);
    assert.ok(references.length > 0);
    for (const reference of references) assert.ok(resolve(document, reference) !== undefined, reference);
  });

  test('answers with codes of the registry only, each under its status', async (t) => {
    const { document } = await readDocument(t);
    assert.deepEqual(document.components.schemas.Problem.properties.code.enum, ERROR_CODES);
    for (const { operationId, responses } of listOperations(document)) {
      assert.ok(responses[200] !== undefined, operationId);
      assert.ok(responses[500]?.description.includes('internal_error:'), operationId);
      for (const [status, { description }] of Object.entries(responses)) {
        if (status === '200') continue;
        const codes = Array.from(
          description.matchAll(/(?:^|\. )([a-z_]+): /g),
          ([, code]) => code as ErrorCode,
        );
        assert.ok(codes.length > 0, `${operationId} ${status}`);
        for (const code of codes)
          assert.equal(ERRORS[code]?.status, Number(status), `${operationId} ${code}`);
      }
    }
  });

  test('names the refusals, the fields and the credentials of a route', async (t) => {
    const { document, routes } = await readDocument(t);
    for (const { paths, methods, errors, access, query, body } of routes.flatMap(splitMethods)) {
      const operation = document.paths[paths[0]]?.[methods[0]?.toLowerCase() ?? ''] as Operation;
      const described = Object.values(operation.responses).map(({ description }) => description);
      const told = [
        ...errors,
        ...(ACCESS[access].class === 'admin'
          ? (['unauthorized', 'forbidden', 'csrf_rejected', 'store_unavailable'] as const)
          : []),
      ];
      for (const code of told)
        assert.ok(
          described.some((text) => text.includes(`${code}: `)),
          code,
        );
      const fields = query === undefined ? undefined : Object.keys(query.shape);
      assert.deepEqual(
        operation.parameters?.map(({ name }) => name),
        fields,
      );
      const schema = operation.requestBody?.content['application/json'].schema as { properties?: object };
      assert.deepEqual(schema?.properties && Object.keys(schema.properties), body && Object.keys(body.shape));
      assert.equal(
        operation.security !== undefined,
        ACCESS[access].class !== 'public' || paths[0] === '/auth',
      );
    }
  });
});

describe('the page', () => {
  test('tells of every path and every code, and runs nothing', async (t) => {
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

test('the document and the page are each written once, however often anybody asks', async () => {
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
