import { SIGNATURE_HEADER } from '@berth/protocol/cloud/vendor-signature';
import type { Answer, RawHeaders, Request } from '../../support/chaos/chaos-fault.ts';

export type Operation = 'activate' | 'check' | 'deactivate' | 'count' | 'count_feature';

const OPERATIONS: Readonly<Record<string, Operation>> = {
  '/api/v4/activate_license': 'activate',
  '/api/v4/check_license': 'check',
  '/api/v4/deactivate_license': 'deactivate',
  '/api/v4/add_consumption': 'count',
  '/api/v4/add_feature_consumption': 'count_feature',
};

export type Fields = Readonly<Record<string, unknown>>;

/** What a request asks for; `null`: nothing that is about a license. */
export function readOperation({ target }: Request): Operation | null {
  return OPERATIONS[target.replace(/\?.*$/s, '')] ?? null;
}

export function readFields({ target, body }: Request): Fields {
  const { searchParams } = new URL(target, 'http://cloud.test');
  return body.length === 0 ? Object.fromEntries(searchParams) : JSON.parse(body.toString());
}

export function findHeader(headers: RawHeaders, name: string): string | undefined {
  const at = headers.findIndex((text, index) => index % 2 === 0 && text.toLowerCase() === name.toLowerCase());
  return at < 0 ? undefined : headers[at + 1];
}

/** The headers with another value, or without one. */
export function setHeader(headers: RawHeaders, name: string, value: string | undefined): string[] {
  const rest = headers.filter((_, index) => {
    return String(headers[index - (index % 2)]).toLowerCase() !== name.toLowerCase();
  });
  return value === undefined ? rest : [...rest, name, value];
}

export function signatureOf({ headers }: Answer): string | undefined {
  return findHeader(headers, SIGNATURE_HEADER);
}

export function withSignature(answer: Answer, signature: string | undefined): Answer {
  return { ...answer, headers: setHeader(answer.headers, SIGNATURE_HEADER, signature) };
}

/** With the length of the new body. */
export function withBody(answer: Answer, body: string | Buffer): Answer {
  const bytes = Buffer.from(body);
  return {
    ...answer,
    headers: setHeader(answer.headers, 'Content-Length', String(bytes.length)),
    body: bytes,
  };
}

export function makeAnswer(status: number, body: string, signature?: string): Answer {
  const headers = ['Content-Type', 'application/json; charset=utf-8', 'Connection', 'close'];
  return withSignature(
    withBody({ status, statusText: 'OK', headers, body: Buffer.alloc(0) }, body),
    signature,
  );
}

/** The same caller asks for something else, with the same keys and the same nonce. */
export function askInstead(request: Request, method: 'GET' | 'POST', path: string, fields: Fields): Request {
  const query = new URLSearchParams(
    Object.entries(fields).map(([name, value]): [string, string] => [name, String(value)]),
  );
  const isGet = method === 'GET';
  const body = Buffer.from(isGet ? '' : JSON.stringify(fields));
  return {
    method,
    target: `/api/v4/${path}${isGet ? `?${query}` : ''}`,
    headers: setHeader(request.headers, 'Content-Length', isGet ? undefined : String(body.length)),
    body,
  };
}
