import type { JsonSchema, NamedSchemas } from './openapi-schemas.ts';

/** Part of the document, with whatever else OpenAPI has there. */
export interface Described {
  readonly [part: string]: unknown;
}

/** The parts of the OpenAPI document that the page about the API is made from. */
export interface ApiDocument extends Described {
  readonly info: Described & { readonly version: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Described & {
    readonly schemas: NamedSchemas;
    readonly parameters: Readonly<Record<string, Described>>;
  };
}

export interface Operation extends Described {
  readonly parameters?: readonly Described[];
  readonly requestBody?: RequestBody;
  readonly responses: Readonly<Record<string, Answer>>;
}

export interface RequestBody extends Described {
  readonly content: Content;
}

export interface Answer extends Described {
  readonly description?: string;
  readonly content?: Content;
}

type Content = Readonly<Record<string, Described & { readonly schema: JsonSchema }>>;
