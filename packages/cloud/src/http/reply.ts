/** What a route answers. The body is text that is ready to be signed and sent. */
export interface Reply {
  readonly status: number;
  readonly body: string;
  readonly type: 'json' | 'text';
  /** The error code, for the log. */
  readonly code?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function json(value: unknown): Reply {
  return { status: 200, body: JSON.stringify(value), type: 'json' };
}

export function text(body: string): Reply {
  return { status: 200, body, type: 'text' };
}
