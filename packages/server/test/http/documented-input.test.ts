import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RequestError } from '@berth/protocol/request-error';
import { parseTimestamp } from '@berth/protocol/timestamp';
import { readInput } from '@berth/web/read-input';
import { toHttpRequest } from '../../../../test/support/fetch-app.ts';
import { resolve, whyNot } from '../../../../test/support/json-schema.ts';
import { CONTROL, openTestApp } from '../../../../test/support/test-app.ts';
import { testLicense } from '../../../../test/support/test-license.ts';
import { inputOf, type Route } from '../../src/http/route.ts';
import { exampleFeature, exampleLimits } from '../core/examples.ts';

type Schema = Parameters<typeof whyNot>[1];

interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content & { readonly $ref?: string }>>;
}

interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

const LICENSE = testLicense(1, {
  consumption: exampleLimits({ max: 1000, allowOverages: true, maxOverages: 5 }),
  features: [
    exampleFeature('export', { consumption: exampleLimits({ max: 1000 }) }),
    exampleFeature('render'),
  ],
});

async function openDocumented(t: Parameters<typeof openTestApp>[0]) {
  const app = await openTestApp(t, { licenses: [LICENSE] });
  return { ...app, document: (await app.get('/api/v4/openapi.json')).body as unknown as ApiDocument };
}

function bodySchemaOf(operation: Operation | undefined): Schema | undefined {
  return operation?.requestBody?.content?.['application/json']?.schema;
}

function follow<T extends { readonly $ref?: string }>(document: ApiDocument, place: T): T {
  return place.$ref === undefined ? place : (resolve(document, place.$ref) as T);
}

/** The fields of an object, including inherited ones. */
function fieldsOf(document: ApiDocument, schema: Schema | undefined): Readonly<Record<string, Schema>> {
  if (schema === undefined) return {};
  const { properties = {}, allOf = [] } = follow(document, schema);
  return Object.assign({}, properties, ...allOf.map((one) => fieldsOf(document, one)));
}

/** The requests in the specification of the v4 API: every field is optional text. */
const SPECIFIED: readonly (readonly [path: string, body: Readonly<Record<string, string>>])[] = [
  [
    '/api/v4/register',
    { product: 'cad', user: 'ann', os_hostname: 'ws-7', ip_local: '10.0.0.7', user_info: '' },
  ],
  [
    '/api/v4/borrow',
    {
      product: 'cad',
      user: 'ann',
      os_hostname: 'ws-7',
      ip_local: '10.0.0.7',
      user_info: 'a laptop',
      borrowed_until: '2030-01-16T12:00:00.000Z',
    },
  ],
  [
    '/api/v4/add_consumption',
    { product: 'cad', consumptions: '1', max_overages: '0', allow_overages: 'false' },
  ],
  [
    '/api/v4/add_consumption',
    { product: 'cad', consumptions: '1', max_overages: '', allow_overages: 'True' },
  ],
  ['/api/v4/add_feature_consumption', { product: 'cad', feature: 'export', consumptions: '1' }],
  [
    '/api/v4/airgap/license',
    {
      license_policy: 'eyJpZCI6MX0=',
      license_key: 'AAAA-BBBB-CCCC-DDDD',
      policy_id: '1',
      confirmation_code: 'bWlzc2luZw==',
    },
  ],
  ['/api/v4/license/generate', { product: 'cad', license_key: 'AAAA-BBBB-CCCC-DDDD' }],
  ['/api/v4/license/generate', {}],
];

describe('the requests of the specification', () => {
  test('match the document, with all of their fields, with some, and with null for others', async (t) => {
    const { document, post } = await openDocumented(t);
    for (const [path, body] of SPECIFIED) {
      const schema = bodySchemaOf(document.paths[path]?.post) as Schema;
      const needed = ['feature', 'license_policy', 'license_key', 'policy_id', 'confirmation_code'];
      const isNeeded = (name: string) => needed.includes(name) && path !== '/api/v4/license/generate';
      const optional = Object.keys(body).filter((name) => !isNeeded(name));
      const kept = Object.entries(body).filter(([name]) => isNeeded(name));
      const bodies = [
        body,
        Object.fromEntries(kept),
        { ...body, ...Object.fromEntries(optional.map((name) => [name, null])) },
      ];
      for (const sent of bodies) {
        assert.equal(whyNot(document, schema, sent), null, `${path} ${JSON.stringify(sent)}`);
        const { text, body: answer } = await post(path, sent, { peer: CONTROL });
        assert.ok(!['validation_error', 'invalid_json'].includes(answer.code as string), `${path} ${text}`);
      }
    }
  });

  test('for the keys are GETs with the specified names', async (t) => {
    const { document, get } = await openDocumented(t);
    const parameters = document.paths['/api/v4/setKeys']?.get?.parameters ?? [];
    for (const [name, value] of Object.entries({ apiKey: 'an-api-key', sharedKey: 'a-shared-key' })) {
      const parameter = parameters.map((one) => follow(document, one)).find((one) => one.name === name);
      assert.equal(whyNot(document, parameter?.schema as Schema, value), null);
      assert.equal((await get(`/api/v4/setKeys?${name}=${value}`, { peer: CONTROL })).status, 200);
    }
  });
});

const VALUES: readonly unknown[] = [
  ...[null, '', ' ', ' \n', 'x', ' x ', 'x\ny', '\u0085', 'é', 'x'.repeat(256), 'x'.repeat(257)],
  ...['x'.repeat(512), 'x'.repeat(513), 'x'.repeat(5000), '0', '1', '007', '-1', '1.5', '1e3', '0x1', ' 1'],
  ...['9'.repeat(17), '3650', '3651', 'never', 'system', 'admin', 'activation', 'true', 'FALSE', ' false '],
  ...[0, 1, -1, 1.5, 3651, 2 ** 53, Number.MAX_SAFE_INTEGER, true, false, {}, [], ['x']],
  ...['2030-01-16', '2030-01-16t12:30:00.123456789012+01:00', '2030-01-16 12:30', '1.0', '12.'],
  ...['9007199254740991', '0000000000000001', '\n x', 'n'.repeat(16), 'n'.repeat(128), 'n'.repeat(129)],
  ...['e\u0301'.repeat(256), `n${' \n'.repeat(256)}n`],
];

interface Tried {
  readonly route: Route;
  readonly method: string;
  readonly name: string;
  readonly value: unknown;
}

/** Whether the route accepts a value, as far as its input validation can tell. */
async function isTaken({ route, method, name, value }: Tried): Promise<boolean> {
  const isDate = name === 'borrowed_until' || (name === 'before' && method === 'POST');
  if (isDate && typeof value === 'string' && value.trim() !== '') return parseTimestamp(value) !== undefined;
  if (name === 'borrowed_until' && typeof value !== 'string' && value !== null) return false;
  const url = `http://server${route.paths[0]}`;
  const request =
    method === 'GET'
      ? new Request(`${url}?${new URLSearchParams({ [name]: String(value) })}`)
      : new Request(url, { method, body: JSON.stringify({ [name]: value }) });
  const read = async () => readInput(inputOf(route, method), toHttpRequest(request));
  return read().then(
    () => true,
    (error: unknown) => !(error instanceof RequestError && error.code === 'validation_error'),
  );
}

describe("the document's description of a field", () => {
  test('is what the server accepts and refuses, value by value', async (t) => {
    const { document, routes } = await openDocumented(t);
    const contradictions: string[] = [];
    let tried = 0;
    // The handler checks new secrets, not the input validation.
    const isJudgedHere = ({ name }: { name: string }) => !/^new_key$|pass(?:word|phrase)/i.test(name);
    // The length counts after blanks are left out, or characters composed, which no schema can say.
    const isLonger = (name: string) => ['signing_key', 'confirmation_code', 'user'].includes(name);
    const fields = listFields(document, routes).filter(isJudgedHere);
    for (const { route, method, name, field, isNeeded } of fields) {
      const values = VALUES.filter((one) => method === 'POST' || typeof one === 'string');
      for (const value of values.filter((one) => !(isNeeded && isNothing(one)))) {
        const fits = whyNot(document, field, readAs(field, method, value)) === null;
        const told = `${method} ${route.paths[0]} ${name} ${JSON.stringify(value)?.slice(0, 40)}`;
        const isSame = (await isTaken({ route, method, name, value })) === fits;
        if (!isSame && !(fits && isLonger(name))) contradictions.push(told);
        tried += 1;
      }
    }
    assert.deepEqual(contradictions, []);
    assert.ok(tried > 3000, String(tried));
  });

  test('has patterns that every language can read: without looking ahead or back', async (t) => {
    const { document, routes } = await openDocumented(t);
    const patterns = listFields(document, routes).flatMap(({ field }) => field.pattern ?? []);
    assert.ok(patterns.length > 100, String(patterns.length));
    for (const pattern of patterns) assert.doesNotMatch(pattern, /\(\?/);
  });
});

/** Every field of every request. */
function listFields(document: ApiDocument, routes: readonly Route[]) {
  return routes.flatMap((route) =>
    route.methods.flatMap((method) => {
      const operation = document.paths[route.paths[0]]?.[method.toLowerCase()];
      const inUrl = (operation?.parameters ?? []).map((one) => follow(document, one));
      const schema = bodySchemaOf(operation);
      const needed = neededOf(document, schema);
      const fields = [
        ...inUrl
          .filter((one) => one.in === 'query')
          .map(({ name, schema: field, required = false }) => ({ name, field, isNeeded: required })),
        ...Object.entries(fieldsOf(document, schema)).map(([name, field]) => ({
          name,
          field,
          isNeeded: needed.includes(name),
        })),
      ];
      return fields.map((field) => ({ route, method, ...field }));
    }),
  );
}

function isNothing(value: unknown): boolean {
  return value === null || (typeof value === 'string' && value.trim() === '');
}

/** Digits in a URL are a number if the document says so. */
function readAs({ type }: Schema, method: string, value: unknown): unknown {
  const isNumber = method === 'GET' && type === 'integer' && /^\d{1,16}$/.test(String(value));
  return isNumber ? Number(value) : value;
}

function neededOf(document: ApiDocument, schema: Schema | undefined): readonly string[] {
  if (schema === undefined) return [];
  const { required = [], allOf = [] } = follow(document, schema);
  return [...required, ...allOf.flatMap((one) => neededOf(document, one))];
}

describe('a field that the document requires', () => {
  test('is missed when it is not there', async (t) => {
    const app = await openDocumented(t);
    const needing = Object.entries(app.document.paths).flatMap(([path, { post }]) => {
      const needed = neededOf(app.document, bodySchemaOf(post));
      return needed.length === 0 ? [] : [{ path, needed }];
    });
    assert.ok(needing.length > 15, String(needing.length));
    // Some are about the caller's own account.
    const ada = { name: 'ada', password: 'a password of my own' };
    await app.accounts.add({ ...ada, role: 'admin' }, 'test');
    const token = await app.accounts.signIn({ ...ada, address: '::1' });
    const headers = { authorization: `Bearer ${token}` };
    for (const { path, needed } of needing) {
      for (const missing of needed) {
        const body = Object.fromEntries(
          needed.filter((one) => one !== missing).map((one) => [one, usual(one)]),
        );
        let answer = await app.post(path, body, { headers });
        if (answer.body.code === 'confirmation_required') {
          answer = await app.post(path, { ...body, own_password: ada.password }, { headers });
        }
        assert.equal(answer.body.code, 'missing_parameters', `${path} without ${missing}: ${answer.text}`);
      }
    }
    for (const [path, { get }] of Object.entries(app.document.paths)) {
      if (neededQuery(app.document, get) === '') continue;
      const answer = await app.get(path, { headers });
      assert.equal(answer.body.code, 'missing_parameters', `${path} without a query: ${answer.text}`);
    }
  });
});

function usual(field: string): unknown {
  return { role: 'user', kind: 'user', license_id: 1, counted: true }[field] ?? 'x';
}

/** The parameters that a path cannot do without. */
function neededQuery(document: ApiDocument, { parameters = [] }: Pick<Operation, 'parameters'> = {}): string {
  const whole = parameters.map((one) => follow(document, one));
  const needed = whole.filter((one) => one.required === true).map(({ name }) => [name, '1']);
  return needed.length === 0 ? '' : `?${new URLSearchParams(needed)}`;
}

describe('the answers', () => {
  test('match the document, including refusals', async (t) => {
    const app = await openDocumented(t);
    const check = async (method: string, path: string, body?: object, headers = {}) => {
      const [plain = path] = path.split('?');
      const operation = app.document.paths[plain]?.[method];
      const answer = await app.send(method.toUpperCase(), path, {
        peer: CONTROL,
        headers,
        ...(body && { body }),
      });
      const { [answer.status]: exact, '4XX': refusal } = operation?.responses ?? {};
      const response = exact ?? (answer.status >= 400 ? refusal : undefined);
      assert.ok(response !== undefined, `${method} ${path}: ${answer.status} ${answer.text}`);
      const isText = answer.headers.get('content-type')?.startsWith('text/plain');
      const schema = follow(app.document, response).content?.['application/json']?.schema;
      if (schema !== undefined && !isText)
        assert.equal(whyNot(app.document, schema, answer.body), null, path);
      return answer.status;
    };
    const who = { product: 'cad', user: 'ann', feature: 'render' };
    for (const sender of [who, { ...who, instance: 'p1' }]) {
      for (const operation of ['register', 'borrow', 'featureRegister', 'featureRelease', 'unregister']) {
        assert.equal(await check('post', `/api/v4/${operation}`, sender), 200, operation);
      }
    }
    for (const operation of ['register', 'floating/register', 'borrow']) {
      const headers = { prefer: 'return=minimal' };
      assert.equal(await check('post', `/api/v4/${operation}`, who, headers), 200, operation);
    }
    await check('post', '/api/v4/register', who);
    await check('post', '/api/v4/add_consumption', { product: 'cad' });
    await check('post', '/api/v4/add_feature_consumption', { feature: 'export' });
    await check('post', '/api/v4/license/generate', {});
    const applied = await check('post', '/api/admin/rules/apply', { text: 'deny: {}' });
    assert.equal(applied, 200);
    await check('post', '/api/v4/register', { product: 'none', user: 'ann' });
    for (const [path, methods] of Object.entries(app.document.paths)) {
      const isRead = methods.get !== undefined && methods.post === undefined && path !== '/auth';
      if (isRead && path !== '/api/v4/openapi.json') {
        // Without a directory, no group has members to show.
        const status = path === '/api/admin/rules/members' ? 400 : 200;
        assert.equal(await check('get', path + neededQuery(app.document, methods.get)), status, path);
      }
      if (methods.post !== undefined && !path.includes('/all')) await check('post', path, {});
    }
  });
});
