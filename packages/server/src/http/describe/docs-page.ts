import { ERRORS, type ErrorCode } from '@berth/protocol/errors';
import { type Route, TAGS, type Tag } from '../route.ts';
import { DocsFields, escapeHtml, renderCode, renderText } from './docs-fields.ts';
import { errorsOf } from './openapi.ts';
import type { ApiDocument, JsonSchema, Operation } from './openapi-schemas.ts';

/** A reference of the API, made from the same document that tools read. It runs no script. */
export function renderDocs(routes: readonly Route[], document: ApiDocument): string {
  const groups = Object.entries(TAGS).map(([tag, about]) => ({
    tag,
    about,
    routes: routes.filter((route) => tagOf(route) === tag),
  }));
  const fields = new DocsFields(document.components.schemas);
  const { version, description } = document.info;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Berth API</title><link rel="stylesheet" href="/api/v4/docs.css"></head><body>
<a class="skip" href="#content">Skip to the reference</a>
${renderContents(groups)}
<main id="content" tabindex="-1">
<h1>Berth ${escapeHtml(version)}: the API</h1>
${description
  .split('\n\n')
  .map((part) => `<p>${renderText(part)}</p>`)
  .join('\n')}
<p>Tools read the same as an OpenAPI document: <a href="/api/v4/openapi.json">openapi.json</a>. In
the commands below, replace <code>${BASE}</code> with the address of your server.</p>
${groups.map((group) => renderGroup(group, document, fields)).join('\n')}
<h2 id="objects">Objects</h2><p>What requests and answers consist of.</p>
${fields.objects().map(renderObject).join('\n')}
<h2 id="errors">Error codes</h2><p>Every refusal has one of them in its field <code>code</code>.</p>
<section><div class="wide"><table><thead><tr><th scope="col">Code</th><th scope="col">Status</th>
<th scope="col">Meaning</th><th scope="col">Worth a retry</th></tr></thead><tbody>
${Object.keys(ERRORS)
  .map((code) => renderError(code as ErrorCode))
  .join('\n')}</tbody></table></div></section>
</main></body></html>
`;
}

const BASE = 'http://127.0.0.1:8080';

interface Group {
  readonly tag: string;
  readonly about: string;
  readonly routes: readonly Route[];
}

/** A route outside the table has no heading. */
function tagOf({ tag = 'Server' }: Route): Tag {
  return tag;
}

function renderContents(groups: readonly Group[]): string {
  const list = ({ tag, routes }: Group) =>
    `<h2>${escapeHtml(tag)}</h2><ul>${routes.map(renderLink).join('')}</ul>`;
  const rest =
    '<h2>More</h2><ul><li><a href="#objects">Objects</a></li><li><a href="#errors">Error codes</a></li></ul>';
  return `<nav aria-label="Contents"><strong>Berth API</strong>${groups.map(list).join('')}${rest}</nav>`;
}

function renderLink({ name, paths: [path] }: Route): string {
  const short = path.replace(/^\/api\/(?:v4|admin)/, '');
  return `<li><a href="#${name}">${escapeHtml(short === '' ? path : short)}</a></li>`;
}

function renderGroup({ tag, about, routes }: Group, document: ApiDocument, fields: DocsFields): string {
  const operations = routes.map((route) => renderRoute(route, document, fields)).join('\n');
  return `<h2>${escapeHtml(tag)}</h2><p>${escapeHtml(about)}</p>\n${operations}`;
}

function renderRoute(route: Route, document: ApiDocument, fields: DocsFields): string {
  const { name, methods, paths, summary } = route;
  const [path, ...others] = paths;
  const [method] = methods;
  const operation = document.paths[path]?.[String(method).toLowerCase()];
  if (operation === undefined) throw new Error(`The API document lacks ${path}.`);
  const aliases = others.length === 0 ? '' : `<p>Also at ${others.map(renderCode).join(', ')}.</p>`;
  return `<section id="${name}"><h3><span>${methods.join(' | ')}</span> ${escapeHtml(path)}</h3>
<p>${escapeHtml(summary)}. <span class="who">${renderText(String(operation.description))}</span></p>${aliases}
${renderRequest(route, operation, document, fields)}
${renderAnswer(operation, fields)}
${renderRefusals(errorsOf(route, String(method)))}</section>`;
}

function renderRequest(
  route: Route,
  operation: Operation,
  { components }: ApiDocument,
  fields: DocsFields,
): string {
  const parameters = (operation.parameters ?? []).map((one) =>
    typeof one.$ref === 'string' ? (components.parameters[one.$ref.split('/').at(-1) ?? ''] ?? one) : one,
  );
  const schema = operation.requestBody?.content['application/json']?.schema;
  const about = schema === undefined ? '' : renderText(String(fields.describe(schema)));
  const tables = [
    fields.parameters(parameters),
    schema === undefined ? '' : fields.table(schema, 'required'),
  ].filter((table) => table !== '');
  const head = tables.length === 0 ? '' : `<h4>Request</h4>${about === '' ? '' : `<p>${about}</p>`}`;
  const body = schema === undefined ? null : fields.example(schema, { isBrief: true });
  return `${head}${tables.map(scrollable).join('')}<h4>Example</h4><pre><code>${escapeHtml(
    writeCommand(route, body),
  )}</code></pre>`;
}

/** A call that can be pasted into a shell. */
function writeCommand({ methods: [method], paths: [path], access, takesFile }: Route, body: unknown): string {
  const words = [`curl ${method === 'GET' ? '' : '-X POST '}${BASE}${path}`];
  if (!['public', 'client'].includes(access)) words.push("-H 'Authorization: Bearer TOKEN'");
  if (takesFile === true)
    words.push("-H 'Content-Type: application/octet-stream'", '--data-binary @license.lic');
  else if (body !== null) {
    words.push("-H 'Content-Type: application/json'", `-d '${JSON.stringify(body)}'`);
  }
  return words.join(' \\\n  ');
}

function renderAnswer({ responses }: Operation, fields: DocsFields): string {
  const { description, content = {} } = responses['200'] ?? {};
  const { schema: declared } = content['application/json'] ?? {};
  const [schema = declared] = (declared?.anyOf as readonly JsonSchema[] | undefined) ?? [];
  const [type = ''] = Object.keys(content);
  const about = [renderText(description ?? ''), type === '' ? '' : renderCode(type)].join(' ');
  if (schema === undefined) return `<h4>Answer</h4><p>${about}</p>`;
  const example = JSON.stringify(fields.example(schema, { isBrief: false }), null, 2);
  return `<h4>Answer</h4><p>${about}</p>${scrollable(fields.table(schema, 'sometimes absent'))}
<details><summary>Example</summary><pre><code>${escapeHtml(example)}</code></pre></details>`;
}

function renderRefusals(codes: readonly ErrorCode[]): string {
  const rows = codes.map(
    (code) =>
      `<tr><th scope="row"><a href="#error-${code}">${renderCode(code)}</a></th>` +
      `<td>${ERRORS[code].status}</td><td>${escapeHtml(ERRORS[code].title)}</td></tr>`,
  );
  const table = scrollable(`<table><tbody>${rows.join('')}</tbody></table>`);
  return `<details><summary>Refusals</summary>${table}</details>`;
}

function scrollable(table: string): string {
  return table === '' ? '' : `<div class="wide">${table}</div>`;
}

function renderObject({ name, about, table }: ReturnType<DocsFields['objects']>[number]): string {
  const text = about === '' ? '' : `<p>${about}</p>`;
  return `<section id="object-${name}"><h3>${name}</h3>${text}${scrollable(table)}</section>`;
}

function renderError(code: ErrorCode): string {
  const { status, title, retryable } = ERRORS[code];
  const cells = [status, escapeHtml(title), retryable ? 'yes' : 'no'];
  const rest = cells.map((cell) => `<td>${cell}</td>`).join('');
  return `<tr id="error-${code}"><th scope="row">${renderCode(code)}</th>${rest}</tr>`;
}
