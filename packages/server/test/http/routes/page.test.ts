import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { toResponse } from '../../../../../test/support/fetch-app.ts';
import { pageReply, pageRoutes, wantsPage } from '../../../src/http/routes/page.ts';

const PAGE = { script: 'let a = 1;', style: 'p{}', icon: '<svg/>' };

async function ask(path: string, page: typeof PAGE | null, headers: Record<string, string> = {}) {
  const url = new URL(path, 'http://a.example');
  const route = pageRoutes(async () => page, '').find(({ paths }) => paths[0] === url.pathname);
  assert.ok(route !== undefined);
  const request = new Request(url, { headers });
  const query = Object.fromEntries(url.searchParams);
  return toResponse((await route.handle({ request, query } as never)) as never);
}

describe("the administrator's page", () => {
  test('is for callers that accept HTML', () => {
    const accepts = (accept: string) => wantsPage(new Request('http://a.example', { headers: { accept } }));
    assert.ok(accepts('text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'));
    assert.deepEqual(['*/*', 'application/json', 'text/plain'].map(accepts), [false, false, false]);
  });

  test('has no script or style in its text, and loads only files of this server', async () => {
    const reply = toResponse(await pageReply(async () => PAGE));
    const policy = reply.headers.get('content-security-policy') ?? '';
    assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self';/);
    assert.doesNotMatch(policy, /unsafe|\*/);
    assert.equal(reply.headers.get('cache-control'), 'no-store');
    const html = await reply.text();
    assert.doesNotMatch(html, /<style|style=|<script[^>]*>[^<]|\bon\w+=/);
    const loaded = Array.from(html.matchAll(/(?:src|href)="([^"]*)"/g), ([, path]) => path);
    assert.deepEqual(
      loaded.map((path) => path?.split('?')[0]),
      ['assets/icon.svg', 'assets/page.css', 'assets/page.js'],
    );
  });

  test('its files are cached for ever under their version, and only then', async () => {
    const html = await toResponse(await pageReply(async () => PAGE)).text();
    const [path] = /assets\/page\.js\?v=[\w-]+/.exec(html) ?? [];
    const current = await ask(`/${path}`, PAGE);
    assert.equal(current.headers.get('content-type'), 'text/javascript; charset=utf-8');
    assert.match(current.headers.get('cache-control') ?? '', /immutable/);
    assert.equal(await current.text(), PAGE.script);
    const other = await ask(`/${path}`, { ...PAGE, style: 'a{}' });
    assert.equal(other.headers.get('cache-control'), 'no-cache');
    for (const name of ['x-content-type-options', 'content-security-policy', 'x-frame-options']) {
      assert.ok(current.headers.has(name), name);
    }
    const small = await ask(`/${path}`, PAGE, { 'accept-encoding': 'br, gzip' });
    assert.equal(small.headers.get('content-encoding'), 'gzip');
    assert.equal(gunzipSync(await small.arrayBuffer()).toString(), PAGE.script);
  });

  test('says so if it could not be built', async () => {
    assert.equal(await (await ask('/assets/page.js', null)).text(), '');
    const html = await toResponse(await pageReply(async () => null)).text();
    assert.match(html, /could not be built[\s\S]+npm run page/);
  });
});
