import type { Answer, RawHeaders, Request } from '../../support/chaos/chaos-fault.ts';
import { type Fields, findHeader, setHeader, withBody } from './messages.ts';

/** One place in a message that somebody on the way changes. */
export interface Change<Message> {
  readonly name: string;
  apply(message: Message): Message;
}

/** What the man in the middle would like to be there instead, by the name of the place in small letters. */
export type Foreign = Readonly<Record<string, string>>;

/** Changing these only breaks the connection. */
const FRAMING: ReadonlySet<string> = new Set([
  'content-length',
  'connection',
  'transfer-encoding',
  'keep-alive',
]);

function otherText(name: string, value: string, foreign: Foreign): string {
  return foreign[name.toLowerCase()] ?? `${value}0`;
}

function otherValue(name: string, value: unknown, foreign: Foreign): unknown {
  const wanted = foreign[name.toLowerCase()];
  if (wanted !== undefined) return wanted;
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'string') return `${value}0`;
  return value === null ? 'x' : Array.isArray(value) ? [...value, 'x'] : { ...(value as object), x: 1 };
}

/** Replaces, removes and doubles every header. */
export function changeHeaders<Message extends { readonly headers: RawHeaders }>(
  { headers }: Message,
  foreign: Foreign,
): Change<Message>[] {
  const names = headers
    .filter((_, index) => index % 2 === 0)
    .filter((name) => !FRAMING.has(name.toLowerCase()));
  return [...new Set(names)].flatMap((name): Change<Message>[] => {
    const put = (message: Message, change: (value: string) => string[]): Message => {
      const value = findHeader(message.headers, name) ?? '';
      const others = setHeader(message.headers, name, undefined);
      return { ...message, headers: [...others, ...change(value).flatMap((text) => [name, text])] };
    };
    const other = (value: string) => otherText(name, value, foreign);
    return [
      { name: `${name} replaced`, apply: (message) => put(message, (value) => [other(value)]) },
      { name: `${name} removed`, apply: (message) => put(message, () => []) },
      {
        name: `${name} with a second one`,
        apply: (message) => put(message, (value) => [value, other(value)]),
      },
      {
        name: `${name} behind another one`,
        apply: (message) => put(message, (value) => [other(value), value]),
      },
    ];
  });
}

/** The same for every member of a JSON text. */
export function changeMembers(fields: Fields, foreign: Foreign): Change<string>[] {
  const read = (text: string) => JSON.parse(text) as Record<string, unknown>;
  return Object.keys(fields).flatMap((name): Change<string>[] => {
    const other = (text: string) => otherValue(name, read(text)[name], foreign);
    const first = (text: string) =>
      `{${JSON.stringify(name)}:${JSON.stringify(other(text))},${text.slice(1)}`;
    const last = (text: string) =>
      `${text.slice(0, -1)},${JSON.stringify(name)}:${JSON.stringify(other(text))}}`;
    return [
      { name: `"${name}" replaced`, apply: (text) => JSON.stringify({ ...read(text), [name]: other(text) }) },
      { name: `"${name}" removed`, apply: (text) => JSON.stringify({ ...read(text), [name]: undefined }) },
      { name: `"${name}" with a second one`, apply: last },
      { name: `"${name}" behind another one`, apply: first },
    ];
  });
}

function changeQuery({ target }: Request, foreign: Foreign): Change<Request>[] {
  const { searchParams } = new URL(target, 'http://cloud.test');
  return [...searchParams.keys()].flatMap((name): Change<Request>[] => {
    const put = (request: Request, change: (query: URLSearchParams, other: string) => void): Request => {
      const [path = '', text = ''] = request.target.split('?');
      const query = new URLSearchParams(text);
      change(query, otherText(name, query.get(name) ?? '', foreign));
      return { ...request, target: `${path}?${query}` };
    };
    return [
      { name: `"${name}" replaced`, apply: (one) => put(one, (query, other) => query.set(name, other)) },
      { name: `"${name}" removed`, apply: (one) => put(one, (query) => query.delete(name)) },
      { name: `"${name}" doubled`, apply: (one) => put(one, (query, other) => query.append(name, other)) },
    ];
  });
}

function setBody(request: Request, text: string): Request {
  const body = Buffer.from(text);
  return { ...request, headers: setHeader(request.headers, 'Content-Length', String(body.length)), body };
}

/** Every header and field of a request, as it was sent once. */
export function changesOfRequest(request: Request, foreign: Foreign): readonly Change<Request>[] {
  const headers = changeHeaders(request, foreign);
  if (request.body.length === 0) return [...headers, ...changeQuery(request, foreign)];
  const members = changeMembers(JSON.parse(request.body.toString()), foreign);
  return [
    ...headers,
    ...members.map(({ name, apply }): Change<Request> => {
      return { name, apply: (one) => setBody(one, apply(one.body.toString())) };
    }),
  ];
}

/** The same for its answer. */
export function changesOfAnswer(answer: Answer, foreign: Foreign): readonly Change<Answer>[] {
  const members = changeMembers(JSON.parse(answer.body.toString()), foreign);
  return [
    { name: 'status replaced', apply: (one) => ({ ...one, status: one.status === 200 ? 400 : 200 }) },
    ...changeHeaders(answer, foreign),
    ...members.map(({ name, apply }): Change<Answer> => {
      return { name, apply: (one) => withBody(one, apply(one.body.toString())) };
    }),
  ];
}
