import { ERRORS } from '@berth/protocol/errors';
import type { Route } from '../route.ts';

/**
 * A readable page about the API, generated from the route table. It has no script and one local style sheet.
 */
export function renderDocs(routes: readonly Route[], version: string): string {
  const groups = Map.groupBy(routes, ({ access }) => access);
  const section = (access: Route['access'], title: string) =>
    `<h2>${title}</h2>${(groups.get(access) ?? []).map(renderRoute).join('')}`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Berth API</title><link rel="stylesheet" href="/api/v4/docs.css"></head><body>
<h1>Berth ${escapeHtml(version)}: the API</h1>
<p>Bodies and answers are JSON. Every error is <code>{"status", "code", "message"}</code>, with facts behind
it. The same as a document for tools: <a href="/api/v4/openapi.json">openapi.json</a>.</p>
${section('client', 'For applications')}
${section('account', 'For every account')}
${section('operator', 'For operators and administrators')}
${section('admin', 'For administrators')}
${section('monitor', 'For monitoring')}
${section('public', 'For everyone')}
<h2>Error codes</h2><table><tr><th>status</th><th>code</th><th>meaning</th><th>worth a retry</th></tr>
${Object.entries(ERRORS).map(renderError).join('\n')}</table></body></html>
`;
}

function renderRoute(route: Route): string {
  const { methods, paths, summary, body, query, headers = [], takesFile, answer, errors } = route;
  const rows = [
    row('also', paths.slice(1)),
    row('fields it needs', requiredOf(body ?? query)),
    row('other fields', otherFieldsOf(body ?? query)),
    row('headers', headers),
    takesFile === true ? '<dt>body</dt><dd>a file, as it is or in a form</dd>\n' : '',
    answer.kind === 'text'
      ? row('answer, as text', [answer.example])
      : `<dt>answer</dt><dd>${answer.kind}</dd>`,
    row('refusals', errors),
  ];
  const heading = `<h3><span>${methods.join(' | ')}</span> ${escapeHtml(paths[0])}</h3>`;
  return `<section>${heading}<p>${escapeHtml(summary)}.</p><dl>\n${rows.join('')}</dl></section>`;
}

function row(title: string, words: readonly string[]): string {
  if (words.length === 0) return '';
  const codes = words.map((word) => `<code>${escapeHtml(word)}</code>`);
  return `<dt>${title}</dt><dd>${codes.join(' ')}</dd>\n`;
}

function requiredOf(schema: Route['body']): readonly string[] {
  return (schema?.meta()?.required as readonly string[] | undefined) ?? [];
}

function otherFieldsOf(schema: Route['body']): readonly string[] {
  return Object.keys(schema?.shape ?? {}).filter((field) => !requiredOf(schema).includes(field));
}

function renderError([code, entry]: [string, { status: number; title: string; retryable: boolean }]): string {
  const retry = entry.retryable ? 'yes' : 'no';
  const cells = [entry.status, `<code>${code}</code>`, escapeHtml(entry.title), retry];
  return `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

export const DOCS_STYLE = `body{font:16px/1.5 system-ui,sans-serif;color:#1b2733}
body{max-width:54rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem}h2{margin-top:2.5rem;border-bottom:2px solid #0b6e99;padding-bottom:.2rem}
section{border:1px solid #d5dde3;border-radius:6px;padding:.2rem 1rem;margin:1rem 0}
h3{font:600 1rem ui-monospace,monospace;margin:.6rem 0 0}h3 span{color:#0b6e99}
p{margin:.4rem 0}dl{display:grid;grid-template-columns:10rem 1fr;gap:.2rem .8rem;margin:.4rem 0 .8rem}
dt{color:#5a6b78}dd{margin:0}code{background:#eef3f6;border-radius:3px;padding:0 .3em;font-size:.9em}
table{border-collapse:collapse;width:100%}
td,th{border-bottom:1px solid #d5dde3;padding:.3rem .5rem;text-align:left}
`;
