/** The parts of the OpenAPI document that are used here. */
export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
  };
}

interface DescribedOperation {
  readonly operationId: string;
  readonly tags?: readonly string[];
  readonly summary: string;
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

interface Schema {
  readonly $ref?: string;
  readonly required?: readonly string[];
  readonly examples?: readonly object[];
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
}

/** A request that can be sent from the page. */
export interface ApiOperation {
  readonly name: string;
  readonly tag: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly summary: string;
  /** What its query may have. */
  readonly query: readonly string[];
  /** A body to begin with; `null`: it takes none. */
  readonly body: string | null;
}

/** Answers that end and can be shown. */
const SHOWN = ['application/json', 'text/plain'];

/** The operations that the caller may use. Aliases, files and streams are left out. */
export function listOperations(
  { paths, components }: ApiDocument,
  allowed: readonly string[],
): readonly ApiOperation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => allowed.includes(`${method.toUpperCase()} ${path}`))
      .filter(([, operation]) => isOffered(operation))
      .map(([method, operation]) => ({
        name: operation.operationId,
        tag: operation.tags?.[0] ?? '',
        method: method === 'get' ? ('GET' as const) : ('POST' as const),
        path,
        summary: operation.summary,
        query: listQuery(operation, components),
        body: method === 'get' ? null : writeBody(operation, components),
      })),
  );
}

function isOffered({ operationId, requestBody, responses }: DescribedOperation): boolean {
  const isAlias = operationId.includes('_alias');
  const takesFile = requestBody?.content['multipart/form-data'] !== undefined;
  const types = Object.keys(responses['200']?.content ?? {});
  const isShown = types.length === 0 || types.some((type) => SHOWN.includes(type));
  return !isAlias && !takesFile && isShown;
}

function listQuery(
  { parameters = [] }: DescribedOperation,
  { parameters: shared }: ApiDocument['components'],
): readonly string[] {
  return parameters
    .map((one) => ('$ref' in one ? shared[lastPart(one.$ref)] : one))
    .filter((one) => one?.in === 'query')
    .map((one) => one?.name ?? '');
}

/** What the document gives as an example, or the fields that are needed. */
function writeBody({ requestBody }: DescribedOperation, { schemas }: ApiDocument['components']): string {
  const given = requestBody?.content['application/json']?.schema;
  const schema = given?.$ref === undefined ? given : schemas[lastPart(given.$ref)];
  const [example] = schema?.examples ?? [];
  const needed = Object.fromEntries((schema?.required ?? []).map((name) => [name, '']));
  return JSON.stringify(example ?? needed, null, 2);
}

function lastPart(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}

/** Why a text is no body; `null`: it is one. */
export function findFault(body: string): string | null {
  try {
    const value: unknown = JSON.parse(body);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? null : 'A body is an object in braces.';
  } catch (error) {
    return `This is not JSON: ${(error as Error).message}.`;
  }
}
