import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { extname } from 'node:path';
import { gzipSync } from 'node:zlib';
import { described } from '@berth/protocol/fields';
import type { BuiltPage } from '@berth/shell/files/built-page';
import type { RequestHead } from '@berth/web/http-request';
import type { Reply } from '@berth/web/reply';
import { z } from 'zod';
import { defineRoute, type Route } from '../route.ts';

/** Returns the administrator's page; `null` if it could not be built. */
export type FindPage = () => Promise<BuiltPage | null>;

/** The page loads and calls nothing but this server, and has no script or style in its text. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

const FILES = {
  script: { path: '/assets/page.js', type: 'js', media: 'text/javascript' },
  style: { path: '/assets/page.css', type: 'css', media: 'text/css' },
  icon: { path: '/assets/icon.svg', type: 'svg', media: 'image/svg+xml' },
} as const;

type FileName = keyof typeof FILES;

/** The files of the administrator's page. The page itself is at `/`, for whoever accepts HTML. */
export function pageRoutes(findPage: FindPage, logoFile: string): readonly Route[] {
  const names = Object.keys(FILES) as FileName[];
  return [...names.map((name) => fileRoute(name, findPage)), logoRoute(logoFile)];
}

const LOGO_TYPES: Readonly<Record<string, 'svg' | 'png' | 'jpeg'>> = {
  '.svg': 'svg',
  '.png': 'png',
  '.jpg': 'jpeg',
  '.jpeg': 'jpeg',
};

const MAX_LOGO_BYTES = 100 * 1024;

/** The file is read each time: it may be replaced, and is asked for once by each page. */
function logoRoute(file: string): Route {
  return defineRoute('GET /assets/logo', {
    name: 'page_logo',
    access: 'public',
    summary: "The logo for the administrator's page; empty if there is none",
    answer: { kind: 'page', type: 'image/svg+xml' },
    handle: () => readLogo(file) ?? { status: 200, body: '', type: 'svg' },
  });
}

function readLogo(file: string): Reply | null {
  const type = LOGO_TYPES[extname(file).toLowerCase()];
  if (type === undefined || statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return null;
  const body = new Uint8Array(readFileSync(file));
  return body.length > MAX_LOGO_BYTES
    ? null
    : { status: 200, body, type, headers: { 'Cache-Control': 'no-cache' } };
}

/** Whether the caller shows pages: a browser names HTML, and programs accept anything or JSON. */
export function wantsPage(request: RequestHead): boolean {
  return /\btext\/html\b/i.test(request.headers.get('accept') ?? '');
}

/** The frame of the page, which loads everything else. */
export async function pageReply(findPage: FindPage): Promise<Reply> {
  const page = await findPage();
  return {
    status: 200,
    body: page === null ? NOT_BUILT : renderFrame(page),
    type: 'html',
    headers: { 'Content-Security-Policy': PAGE_POLICY, Vary: 'Accept' },
  };
}

function fileRoute(name: FileName, findPage: FindPage): Route {
  const { path, type, media } = FILES[name];
  return defineRoute(`GET ${path}`, {
    name: `page_${name}`,
    access: 'public',
    summary: `The ${name} of the administrator's page`,
    query: z.object({ v: described(z.string().optional(), 'Its version, for caches.') }),
    answer: { kind: 'page', type: media },
    handle: async ({ request, query }) => {
      const page = await findPage();
      // Only an old page can ask for it: the one that is not built loads nothing.
      if (page === null) return { status: 200, body: '', type };
      const isCurrent = query.v === versionOf(page);
      const caching = isCurrent ? 'public, max-age=31536000, immutable' : 'no-cache';
      return compressed(
        { status: 200, body: page[name], type, headers: { 'Cache-Control': caching } },
        request,
      );
    },
  });
}

/** A cache: the same text is compressed once. */
const COMPRESSED = new Map<string, Uint8Array<ArrayBuffer>>();

function compressed(reply: Reply & { readonly body: string }, request: RequestHead): Reply {
  const headers = { ...reply.headers, Vary: 'Accept-Encoding' };
  if (!/\bgzip\b/.test(request.headers.get('accept-encoding') ?? '')) return { ...reply, headers };
  const body = COMPRESSED.get(reply.body) ?? new Uint8Array(gzipSync(reply.body, { level: 9 }));
  COMPRESSED.set(reply.body, body);
  return { ...reply, body, headers: { ...headers, 'Content-Encoding': 'gzip' } };
}

/** A cache, by page. */
const VERSIONS = new WeakMap<BuiltPage, string>();

function versionOf(page: BuiltPage): string {
  const known = VERSIONS.get(page);
  if (known !== undefined) return known;
  const hash = createHash('sha256').update(page.script).update(page.style).update(page.icon);
  const version = hash.digest('base64url').slice(0, 12);
  VERSIONS.set(page, version);
  return version;
}

/** Relative addresses, so that it works below any path of a proxy. */
function renderFrame(page: BuiltPage): string {
  const at = (name: FileName) => `${FILES[name].path.slice(1)}?v=${versionOf(page)}`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>Berth</title>
<link rel="icon" href="${at('icon')}"><link rel="stylesheet" href="${at('style')}">
<script type="module" src="${at('script')}"></script></head>
<body><div id="page"></div><noscript>This page needs JavaScript. The command line can do the same:
see "berth --help".</noscript></body></html>
`;
}

const NOT_BUILT = `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Berth</title><link rel="stylesheet" href="api/v4/docs.css"></head>
<body><h1>Berth is running</h1>
<p>The administrator's page could not be built. In the folder of Berth, run <code>npm run page</code>, which
says why. When it succeeds, load this page again.</p>
<p>Lending and the API work without it: see <a href="api/v4/docs">the API</a>.</p></body></html>
`;
