import type { Route } from '@berth/server/http/route';
import fc from 'fast-check';
import { anyBody } from './fuzz-bodies.ts';
import { fields, hasField, type Known } from './fuzz-schema.ts';
import { headerText, oddText } from './fuzz-values.ts';

/** A request as data, so that one that does harm can be made smaller and shown. */
export interface FuzzRequest {
  /** The name of the route that it was made for. */
  readonly route: string;
  readonly caller: string;
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer> | null;
  /** How long after the one before it. */
  readonly passMs: number;
}

export interface Ingredients {
  readonly routes: readonly Route[];
  /** Who may be asking. */
  readonly callers: readonly string[];
  readonly known: Known;
  /** Whole files that the server takes, or nearly. */
  readonly files: readonly string[];
  /** Names and passwords, right and wrong. */
  readonly credentials: readonly string[];
}

/**
 * How often a route is called: what applications call most often; what is slow on purpose, and what takes
 * everything back from everybody, seldom.
 */
const SHARES = { client: 120, ordinary: 40, sweeping: 8, costly: 3 };

/** Whether the route does arithmetic that is slow on purpose, because it protects a password. */
export function isCostly({ errors, body }: Route): boolean {
  return errors.includes('too_many_requests') || hasField(body, /passphrase/);
}

/** It changes something, and nobody has to say what. */
function isSweeping({ methods, query, body, takesFile }: Route): boolean {
  return methods.includes('POST') && query === undefined && body === undefined && takesFile !== true;
}

function shareOf(route: Route): number {
  if (isCostly(route)) return SHARES.costly;
  if (isSweeping(route)) return SHARES.sweeping;
  return route.access === 'client' ? SHARES.client : SHARES.ordinary;
}

/** Requests for all routes of the table. */
export function anyRequest(ingredients: Ingredients): fc.Arbitrary<FuzzRequest> {
  return fc.oneof(
    ...ingredients.routes.map((route) => ({
      weight: shareOf(route),
      arbitrary: requestFor(route, ingredients),
    })),
  );
}

/** Requests for one of them. */
export function requestFor(route: Route, ingredients: Ingredients): fc.Arbitrary<FuzzRequest> {
  return fc
    .record({
      route: fc.constant(route.name),
      caller: fc.constantFrom(...ingredients.callers),
      method: anyMethod(route),
      path: anyPath(route),
      query: anyQuery(route, ingredients),
      headers: anyHeaders(route, ingredients),
      body: anyBody(route, ingredients),
      passMs: fc.oneof(
        { weight: 60, arbitrary: fc.constant(0) },
        { weight: 3, arbitrary: fc.constantFrom(1, 1000, 10_000, 61_000) },
        { weight: 1, arbitrary: fc.constantFrom(660_000, 3_600_000) },
      ),
    })
    .map(({ path, query, body, ...rest }) => ({
      ...rest,
      target: query === '' ? path : `${path}?${query}`,
      body: /^(get|head)$/i.test(rest.method) ? null : body,
    }));
}

function anyMethod({ methods }: Route): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 14, arbitrary: fc.constantFrom<string>(...methods) },
    { weight: 1, arbitrary: fc.constantFrom('GET', 'POST', 'HEAD') },
    { weight: 1, arbitrary: fc.constantFrom('PUT', 'DELETE', 'PATCH', 'OPTIONS', 'get', 'BREW', 'M-SEARCH') },
  );
}

/** Paths that look like the real one to somebody who reads them otherwise. */
function near(path: string): readonly string[] {
  const [first = '', ...rest] = path.split('/').filter((part) => part !== '');
  const inside = rest.join('/');
  return [
    `${path}/`,
    `/${path}`,
    `//evil.example${path}`,
    `/./${first}/../${first}/${inside}`,
    `/api/v4/..${path}`,
    `/x/%2e%2e${path}`,
    `/%2e%2e/%2e%2e${path}`,
    path.toUpperCase(),
    path.replace('v4', 'v3'),
    `/${path.slice(1).replaceAll('/', '%2f')}`,
    `/${path.slice(1).replaceAll('/', '\\')}`,
    path.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
    `${path}%00`,
    `${path}%00.json`,
    `${path};a=b`,
    `${path}.json`,
    `${path}%20`,
    `${path}/${'a/'.repeat(500)}`,
    `${path}${'a'.repeat(10_000)}`,
    `${path}/%ff%fe%80`,
    `${path}/%`,
    `${path}/__proto__`,
    `/${encodeURIComponent('ü👍\u202e')}${path}`,
    '/*',
    '/:id',
  ];
}

function anyPath({ paths }: Route): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 14, arbitrary: fc.constantFrom(...paths) },
    { weight: 1, arbitrary: fc.constantFrom(...paths.flatMap(near)) },
  );
}

/** Lone halves of characters cannot stand in a URL; others have to be escaped there. */
function escaped(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

function toText(value: unknown): string {
  if (value === null) return '';
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

function queryOf(record: Readonly<Record<string, unknown>>): string {
  const entries = Object.entries(record);
  return entries.map(([name, value]) => `${escaped(name)}=${escaped(toText(value))}`).join('&');
}

function anyQuery({ query, body }: Route, { known }: Ingredients): fc.Arbitrary<string> {
  const schema = query ?? body;
  const meant = schema === undefined ? fc.constant('') : fields(schema, known).map(queryOf);
  const noise = fc.oneof(
    fc.dictionary(oddText, oddText, { maxKeys: 3 }).map(queryOf),
    fc.constantFrom(
      '&&&',
      '=',
      '%',
      '%zz=%',
      '?',
      'a[b]=c',
      '__proto__[x]=1',
      'a=1&a=2',
      '+',
      'a'.repeat(9000),
    ),
    fc.tuple(meant, meant).map((both) => both.join('&')),
    meant.map((text) => text.replaceAll('%20', '+').toUpperCase()),
  );
  return fc.oneof(
    { weight: query === undefined ? 0 : 12, arbitrary: meant },
    { weight: 2, arbitrary: fc.constant('') },
    { weight: 1, arbitrary: noise },
  );
}

const TYPES = [
  'application/json',
  'application/json; charset=utf-16',
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'multipart/form-data; boundary=',
  'multipart/form-data; boundary=x',
  'application/xml',
  'application/octet-stream',
  'json',
  '',
  'a/b; '.repeat(100),
  `multipart/form-data; boundary=${'-'.repeat(300)}`,
];

function basic(pair: string): string {
  return `Basic ${Buffer.from(pair).toString('base64')}`;
}

function anyAuthorization(credentials: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...credentials.map(basic)) },
    { weight: 1, arbitrary: fc.tuple(oddText, oddText).map((pair) => basic(pair.join(':'))) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('Basic', 'Basic =', 'Bearer', 'Bearer  x', `Bearer ${'a'.repeat(43)}`),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        'basic OjpA',
        `Basic ${'A'.repeat(8000)}`,
        `Bearer ${'-'.repeat(256)}`,
        'Digest username="x"',
      ),
    },
    { weight: 1, arbitrary: headerText },
  );
}

/** Headers that something in the server looks at, and some that nothing does. */
function oddHeaders({ credentials }: Ingredients): fc.Arbitrary<Record<string, string>> {
  const names = [
    'accept',
    'accept-encoding',
    'content-encoding',
    'cookie',
    'expect',
    'forwarded',
    'host',
    'idempotency-key',
    'if-none-match',
    'last-event-id',
    'origin',
    'range',
    'sec-fetch-site',
    'transfer-encoding',
    'upgrade',
    'via',
    'x-berth-csrf',
    'x-forwarded-for',
    'x-forwarded-host',
    'x-forwarded-proto',
    'x-http-method-override',
    'x-real-ip',
  ];
  const usual: Readonly<Record<string, readonly string[]>> = {
    accept: ['text/plain', 'text/event-stream', 'application/jsonl', 'text/plain, application/json'],
    cookie: ['berth=', 'berth=x', '__Host-berth=x', 'berth=%zz', `berth=${'a'.repeat(43)}; berth=b`],
    host: ['localhost', '[::1]', 'evil.example', 'localhost, evil.example', ''],
    'idempotency-key': ['k1', 'k2', 'k3', 'k 4'],
    origin: ['null', 'http://localhost:8080', 'https://evil.example'],
    'sec-fetch-site': ['cross-site', 'same-origin', 'none'],
    'x-forwarded-for': ['127.0.0.1', '::1', '203.0.113.9, 127.0.0.1', 'unknown', '[::ffff:127.0.0.1]:1'],
    'x-forwarded-proto': ['https', 'http', 'https,http'],
  };
  const one = fc
    .constantFrom(...names)
    .chain((name) =>
      fc.tuple(fc.constant(name), fc.oneof(fc.constantFrom(...(usual[name] ?? ['x'])), headerText)),
    );
  const authorization = anyAuthorization(credentials).map(
    (value) => ['authorization', value] as [string, string],
  );
  const line = fc.oneof({ weight: 8, arbitrary: one }, { weight: 1, arbitrary: authorization });
  return fc.array(line, { maxLength: 4 }).map((lines) => Object.fromEntries(lines));
}

/** A public route without fields that refuses strangers takes their names from a header. */
function readsCredentials({ access, query, body, errors }: Route): boolean {
  return access === 'public' && query === undefined && body === undefined && errors.includes('unauthorized');
}

function anyHeaders(route: Route, ingredients: Ingredients): fc.Arbitrary<Record<string, string>> {
  const type = fc.constantFrom(...TYPES).map((value) => ({ 'content-type': value }));
  const odd = fc.oneof(
    { weight: 5, arbitrary: fc.constant({}) },
    { weight: 3, arbitrary: oddHeaders(ingredients) },
  );
  const key = fc.constantFrom('k1', 'k2', 'k3').map((value) => ({ 'idempotency-key': value }));
  const credentials = anyAuthorization(ingredients.credentials).map((value) => ({ authorization: value }));
  const always = readsCredentials(route) ? credentials : fc.constant({});
  return fc
    .tuple(fc.option(type, { freq: 3, nil: {} }), fc.option(key, { freq: 2, nil: {} }), always, odd)
    .map((parts) => Object.assign({}, ...parts));
}
