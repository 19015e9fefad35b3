/** The response of a route. The body is text that is ready to be signed and sent. */
export interface Reply {
  readonly status: number;
  readonly body: string;
  readonly type: 'json' | 'text' | 'html' | 'css';
  /** The error code, for the log. */
  readonly code?: string;
  /** It reveals whether a key exists, whatever its code; see `createGuessLimit`. */
  readonly isGuess?: true;
  readonly headers?: Readonly<Record<string, string>>;
}

export function json(value: unknown): Reply {
  return { status: 200, body: JSON.stringify(value), type: 'json' };
}

export function text(body: string): Reply {
  return { status: 200, body, type: 'text' };
}

/** Text that the browser saves as a file. The name consists of letters, digits, ".", "_" and "-". */
export function download(body: string, fileName: string): Reply {
  return { ...text(body), headers: { 'Content-Disposition': `attachment; filename="${fileName}"` } };
}
