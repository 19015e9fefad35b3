import type { Described, JsonSchema, NamedSchemas } from './openapi-schemas.ts';

/** A row of a table of fields. */
interface FieldRow {
  readonly name: string;
  readonly type: string;
  readonly note: string;
  readonly about: string;
}

/** Tables and examples made from the schemas of the API document. All texts are HTML. */
export class DocsFields {
  readonly #named: NamedSchemas;

  constructor(named: NamedSchemas) {
    this.#named = named;
  }

  /** The fields of an object as a table; empty for a schema without fields. */
  table(schema: JsonSchema, required: 'required' | 'sometimes absent'): string {
    const whole = this.#whole(schema);
    const needed = new Set(whole.required ?? []);
    const rows = Object.entries(whole.properties ?? {}).map(([name, field]): FieldRow => {
      const isMarked = required === 'required' ? needed.has(name) : !needed.has(name);
      return {
        name,
        type: this.#typeOf(field),
        note: isMarked ? required : '',
        about: renderText(String(field.description ?? this.#whole(field).description ?? '')),
      };
    });
    return renderFields(rows);
  }

  /** What a schema says about itself. */
  describe(schema: JsonSchema): string {
    return String(this.#whole(schema).description ?? '');
  }

  parameters(list: readonly Described[]): string {
    return renderFields(
      list.map(({ name, schema, required, description, in: place }) => ({
        name: String(name),
        type: this.#typeOf(schema as JsonSchema),
        note: [required === true ? 'required' : '', place === 'header' ? 'header' : ''].join(' ').trim(),
        about: renderText(String(description ?? '')),
      })),
    );
  }

  /** A value that fits the schema. `isBrief`: only what a request needs. */
  example(schema: JsonSchema, { isBrief }: { readonly isBrief: boolean }, name = '', depth = 0): unknown {
    const whole = this.#whole(schema);
    const [given] = (whole.examples as readonly unknown[] | undefined) ?? [];
    if (given !== undefined) return given;
    if (whole.const !== undefined) return whole.const;
    if (Array.isArray(whole.enum)) return whole.enum[0];
    if (Array.isArray(whole.anyOf)) return this.example(whole.anyOf[0], { isBrief }, name, depth);
    const [type] = [whole.type ?? []].flat();
    if (type === 'array') {
      const items = whole.items as JsonSchema | undefined;
      return items === undefined || depth > MAX_DEPTH
        ? []
        : [this.example(items, { isBrief }, name, depth + 1)];
    }
    if (whole.properties === undefined) return exampleOf(String(type), name);
    const fields = Object.entries(whole.properties).filter(
      ([field]) => !isBrief || whole.required?.includes(field),
    );
    return Object.fromEntries(
      fields.map(([field, value]) => [field, this.example(value, { isBrief }, field, depth + 1)]),
    );
  }

  /** Every named object, for the end of the page. */
  objects(): readonly { readonly name: string; readonly about: string; readonly table: string }[] {
    return Object.entries(this.#named)
      .filter(([name]) => !/(?:Request|Answer)$/.test(name))
      .map(([name, schema]) => ({
        name,
        about: renderText(String(schema.description ?? '')),
        table: this.table(schema, 'sometimes absent') || `<p>${this.#typeOf(this.#whole(schema))}</p>`,
      }));
  }

  /** Follows references, and puts the fields of a base before its own. */
  #whole(schema: JsonSchema): JsonSchema {
    if (typeof schema.$ref === 'string') {
      const { $ref, ...own } = schema;
      return { ...this.#whole(this.#named[nameOf(schema.$ref)] ?? {}), ...own };
    }
    if (!Array.isArray(schema.allOf)) return schema;
    const parts = (schema.allOf as readonly JsonSchema[]).map((part) => this.#whole(part));
    return {
      ...schema,
      type: 'object',
      properties: Object.assign({}, ...parts.map(({ properties }) => properties)),
      required: parts.flatMap(({ required = [] }) => required),
    };
  }

  #typeOf(schema: JsonSchema): string {
    if (typeof schema.$ref === 'string') {
      const name = nameOf(schema.$ref);
      return `<a href="#object-${name}">${name}</a>`;
    }
    if (Array.isArray(schema.anyOf)) return schema.anyOf.map((one) => this.#typeOf(one)).join(' or ');
    if (schema.const !== undefined) return renderCode(JSON.stringify(schema.const));
    if (Array.isArray(schema.enum)) {
      return schema.enum.map((value) => renderCode(JSON.stringify(value))).join(' or ');
    }
    const types = [schema.type ?? []].flat();
    if (types.includes('array')) return `list of ${this.#typeOf((schema.items ?? {}) as JsonSchema)}`;
    if (schema.format === 'date-time')
      return ['time', ...types.filter((type) => type === 'null')].join(' or ');
    return types.length === 0 ? 'any' : types.join(' or ');
  }
}

const MAX_DEPTH = 3;

/** Examples that say more than the type does. */
const EXAMPLES: Readonly<Record<string, unknown>> = {
  product: 'demo',
  user: 'ada@example.com',
  feature: 'render',
  code: 'render',
  license_id: 1001,
  id: 1001,
  name: 'ada',
  hostname: 'ws-7',
  address: '10.0.0.7',
  version: '1.0.0',
  url: 'http://127.0.0.1:8080',
};

function exampleOf(type: string, name: string): unknown {
  const known = EXAMPLES[name];
  if (known !== undefined && typeof known === (type === 'integer' ? 'number' : type)) return known;
  if (/(?:_at|_until|_date|^at)$/.test(name)) return '2026-09-27T23:30:48.016Z';
  return { string: '…', integer: 1, number: 1, boolean: true, null: null, object: {} }[type] ?? null;
}

function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}

function renderFields(rows: readonly FieldRow[]): string {
  if (rows.length === 0) return '';
  const body = rows.map(
    ({ name, type, note, about }) =>
      `<tr><th scope="row">${renderCode(name)}${note === '' ? '' : ` <small>${note}</small>`}</th>` +
      `<td>${type}</td><td>${about}</td></tr>`,
  );
  const head = '<tr><th scope="col">Field</th><th scope="col">Type</th><th scope="col">Meaning</th></tr>';
  return `<table><thead>${head}</thead><tbody>${body.join('\n')}</tbody></table>`;
}

export function renderCode(text: string): string {
  return `<code>${escapeHtml(text)}</code>`;
}

/** Plain text with `code` in it. */
export function renderText(text: string): string {
  return escapeHtml(text).replace(/`([^`]*)`/g, '<code>$1</code>');
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
