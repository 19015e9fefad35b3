import { described } from '@berth/protocol/fields';
import { jsonText } from '@berth/web/reply';
import { z } from 'zod';
import { renderDocs } from '../describe/docs-page.ts';
import { DOCS_STYLE } from '../describe/docs-style.ts';
import { describeApi } from '../describe/openapi.ts';
import { defineRoute, type Route } from '../route.ts';

/** The documentation of the API. `routes` is the whole table, including these three. */
export function docsRoutes(routes: () => readonly Route[], version: string): readonly Route[] {
  const describe = madeOnce(() => describeApi(routes(), version));
  const document = madeOnce(() => JSON.stringify(describe()));
  const page = madeOnce(() => renderDocs(routes(), describe()));
  return [
    defineRoute('GET /api/v4/openapi.json', {
      name: 'openapi',
      access: 'public',
      summary: 'This API as an OpenAPI document',
      answer: {
        kind: 'json',
        schema: z.looseObject({ openapi: described(z.string(), 'The version of OpenAPI.') }),
      },
      handle: () => jsonText(document()),
    }),
    defineRoute('GET /api/v4/docs', {
      name: 'docs',
      access: 'public',
      summary: 'This API as a page to read',
      answer: { kind: 'page', type: 'text/html' },
      handle: () => ({ status: 200, body: page(), type: 'html' }),
    }),
    defineRoute('GET /api/v4/docs.css', {
      name: 'docs_style',
      access: 'public',
      summary: 'The style of that page',
      answer: { kind: 'page', type: 'text/css' },
      handle: () => ({ status: 200, body: DOCS_STYLE, type: 'css' }),
    }),
  ];
}

/** A cache: anyone may request these texts, and each takes milliseconds to make. */
function madeOnce<T>(make: () => T): () => T {
  let made: T | null = null;
  return () => {
    made ??= make();
    return made;
  };
}
