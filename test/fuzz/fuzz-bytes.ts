import fc from 'fast-check';

/** What is written to a connection, letter by byte, and how. */
export interface Utterance {
  readonly bytes: string;
  /** Written in pieces that end here, shares of the whole. */
  readonly cuts: readonly number[];
  /** Waits for answers; stops talking at once and listens; or is gone at once. */
  readonly manner: 'waits' | 'half-closes' | 'hangs up';
}

const METHODS = [
  'GET',
  'POST',
  'HEAD',
  'PUT',
  'OPTIONS',
  'TRACE',
  'CONNECT',
  'BREW',
  'get',
  '',
  'G\0T',
  'PRI',
  'M-SEARCH',
];

const TARGETS = [
  '*',
  '/',
  '',
  '//',
  '/../../etc/passwd',
  '/%2e%2e/',
  '/%',
  '/%00',
  '/\0',
  '/a b',
  '/#x',
  '?',
  '/?a=%',
  '\\',
  '/\xff\xfe',
  'http://127.0.0.1/',
  'http://evil.example/api/v4/health',
  'https://x',
  'http://',
  'http://[',
  'http://a:99999/',
  'ftp://x/',
  'javascript:alert(1)',
  '127.0.0.1:80',
  `/${'a'.repeat(20_000)}`,
  `/${'%41'.repeat(2000)}`,
  '/'.repeat(3000),
];

const VERSIONS = [
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.0',
  'HTTP/0.9',
  'HTTP/1.2',
  'HTTP/2.0',
  'HTTP/11',
  'HTTP',
  '',
  'http/1.1',
  'HTTP/1.1 x',
];

const HEADERS = [
  'Host: x',
  'Host: 127.0.0.1',
  'Host:',
  'Host: a b',
  'Host: [::1',
  'Host: x:99999',
  'Host: é',
  'Host : x',
  'Content-Length: 0',
  'Content-Length: 2',
  'Content-Length: 14',
  'Content-Length: -1',
  'Content-Length: +2',
  'Content-Length: 2, 2',
  'Content-Length: 0x2',
  'Content-Length: 1e3',
  'Content-Length: 18446744073709551616',
  'Content-Length: 9007199254740993',
  'Content-Length:',
  'Content-Length: 2 2',
  'Content-Length: 70000',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: chunked, chunked',
  'Transfer-Encoding: identity, chunked',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: gzip',
  'Transfer-Encoding:\tchunked',
  'Transfer-Encoding : chunked',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
  'Transfer-Encoding: \x0bchunked',
  'Connection: close',
  'Connection: keep-alive',
  'Connection: upgrade',
  'Connection: close, upgrade',
  'Connection: ,,,',
  'Connection: Content-Length',
  'Upgrade: websocket',
  'Upgrade: h2c',
  'HTTP2-Settings: AAMAAABkAAQAAP__',
  'Upgrade: TLS/1.0',
  'Expect: 100-continue',
  'Expect: 100-continue, x',
  'Expect: tea',
  'Trailer: Host',
  'TE: trailers',
  'Keep-Alive: timeout=-1',
  ' folded: x',
  '\tfolded',
  'no colon here',
  ': no name',
  'A\0B: x',
  'X: a\0b',
  'X: \x7f',
  'X: \x01',
  'X\xe9: x',
  'X: a\rb',
  'X: a\nb',
  `X: ${'a'.repeat(9000)}`,
  `X: ${'a'.repeat(20_000)}`,
  'X: y\r\n'.repeat(300).trim(),
  `${'X'.repeat(5000)}: y`,
  'Content-Type: application/json',
  'Content-Encoding: gzip',
  'Accept: text/plain',
  'Range: bytes=0-,0-,0-',
  'Origin: null',
  'Authorization: Basic',
  'Authorization: Basic YWRtaW46YWRtaW4=',
  'Cookie: berth=x',
  'X-Forwarded-For: 127.0.0.1',
  'X-HTTP-Method-Override: DELETE',
  'Proxy-Connection: keep-alive',
  'Forwarded: for=127.0.0.1',
  'Last-Event-ID: 1',
];

const BODIES = [
  '',
  '',
  '{}',
  '{"user":"raw"}',
  '{"user":"\xff\xfe"}',
  '\0\0\0',
  '[[[[',
  '0\r\n\r\n',
  '2\r\n{}\r\n0\r\n\r\n',
  'E\r\n{"user":"raw"}\r\n0\r\n\r\n',
  '-1\r\n',
  'FFFFFFFFFFFFFFFF\r\nx',
  '2;a="b\r\n{}\r\n0\r\n\r\n',
  'zz\r\n',
  '2\r\n{}x0\r\n\r\n',
  '2 \r\n{}\r\n0\r\n\r\n',
  '02\n{}\n0\n\n',
  '0\r\nHost: evil\r\n\r\n',
  `${'1;'.repeat(9000)}\r\n`,
  `${'0'.repeat(5000)}2\r\n{}\r\n`,
  '{'.repeat(70_000),
  '\r\n\r\n\r\n',
  'GET / HTTP/1.1\r\n\r\n',
];

/** What other programs say first, and what is no language at all. */
const FOREIGN_TONGUES = [
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  '\x80\x2e\x01\x00\x02',
  'SSH-2.0-OpenSSH_9.9\r\n',
  '\x05\x01\x00',
  '\x04\x01\x00\x50\x7f\x00\x00\x01\0',
  'PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n',
  '\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c',
  'EHLO x\r\n',
  '*1\r\n$4\r\nPING\r\n',
  '\0\0\0\x85\xffSMBr',
  '<policy-file-request/>\0',
  'RTSP/1.0 OPTIONS *\r\n\r\n',
  'GET',
  'GET /',
  'GET /\r\n',
  'GET /\n\n',
  '\r\n'.repeat(500),
  '\0'.repeat(2000),
  '\xff'.repeat(70_000),
  'hello, is anybody there?\r\n\r\n',
  'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
];

function message(paths: readonly string[]): fc.Arbitrary<string> {
  const mostly = <T>(usual: T, odd: fc.Arbitrary<T>, weight: number) =>
    fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: odd });
  return fc
    .record({
      method: fc.oneof(
        { weight: 3, arbitrary: fc.constantFrom('GET', 'POST') },
        { weight: 1, arbitrary: fc.constantFrom(...METHODS) },
      ),
      target: fc.oneof(
        { weight: 4, arbitrary: fc.constantFrom(...paths) },
        { weight: 1, arbitrary: fc.constantFrom(...TARGETS) },
      ),
      version: mostly('HTTP/1.1', fc.constantFrom(...VERSIONS), 3),
      host: mostly<string[]>(['Host: 127.0.0.1'], fc.constant([]), 6),
      headers: fc.oneof(
        { weight: 3, arbitrary: fc.array(fc.constantFrom(...HEADERS), { maxLength: 1 }) },
        { weight: 1, arbitrary: fc.array(fc.constantFrom(...HEADERS), { maxLength: 5 }) },
      ),
      isMeasured: fc.boolean(),
      ending: mostly('\r\n', fc.constantFrom('\n', '\r', ''), 12),
      body: mostly('', fc.constantFrom(...BODIES), 1),
    })
    .map(({ method, target, version, host, headers, ending, body, isMeasured }) => {
      const length = isMeasured && body !== '' ? [`Content-Length: ${body.length}`] : [];
      const lines = [`${method} ${target} ${version}`, ...host, ...length, ...headers, '', body];
      return lines.join(ending);
    });
}

/** A letter more, a letter less, another letter, or the end too early. */
function damaged(text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const letter = fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code));
  return fc
    .tuple(text, fc.nat(), letter, fc.constantFrom('insert', 'remove', 'replace', 'cut'))
    .map(([whole, at, other, how]) => {
      const place = at % (whole.length + 1);
      const rest = how === 'cut' ? '' : whole.slice(place + (how === 'insert' ? 0 : 1));
      return `${whole.slice(0, place)}${how === 'insert' || how === 'replace' ? other : ''}${rest}`;
    });
}

/** The user that no request may ever ask for. */
export const SMUGGLED = 'smuggled';

const HIDDEN_BODY = JSON.stringify({ user: SMUGGLED });
const HIDDEN_HEAD = `POST /api/v4/register HTTP/1.1\r\nHost: x\r\nContent-Length: ${HIDDEN_BODY.length}`;
const HIDDEN = `${HIDDEN_HEAD}\r\n\r\n${HIDDEN_BODY}`;

/** The outer request ends here for whoever believes in chunks, and before for whoever does not. */
const AFTER_CHUNKS = `0\r\n\r\n${HIDDEN}`;

/** A request inside another, for whoever reads the length of the outer one in one of two ways. */
const SMUGGLERS = [
  [['Content-Length: 0', 'Transfer-Encoding: chunked'], AFTER_CHUNKS],
  [['Transfer-Encoding: chunked', 'Content-Length: 5'], AFTER_CHUNKS],
  [['Transfer-Encoding: chunked', `Content-Length: ${AFTER_CHUNKS.length}`], AFTER_CHUNKS],
  [['Transfer-Encoding: chunked, identity'], AFTER_CHUNKS],
  [['Transfer-Encoding: xchunked', 'Content-Length: 5'], AFTER_CHUNKS],
  [['Transfer-Encoding : chunked', `Content-Length: ${AFTER_CHUNKS.length}`], AFTER_CHUNKS],
  [['Content-Length: 0\rX: y'], HIDDEN],
  [[`Content-Length: ${HIDDEN.length}`, 'Content-Length: 0'], HIDDEN],
  [[`Content-Length: 0, ${HIDDEN.length}`], HIDDEN],
  [[`Content-Length: ${HIDDEN.length}`], HIDDEN],
].map(([headers, body]) =>
  ['POST /api/v4/health HTTP/1.1', 'Host: x', ...(headers as string[]), '', body].join('\r\n'),
);

export function anyUtterance(paths: readonly string[]): fc.Arbitrary<Utterance> {
  const one = message(paths);
  const bytes = fc.oneof(
    { weight: 8, arbitrary: one },
    { weight: 3, arbitrary: damaged(one) },
    { weight: 3, arbitrary: fc.array(one, { minLength: 2, maxLength: 5 }).map((all) => all.join('')) },
    { weight: 2, arbitrary: fc.constantFrom(...FOREIGN_TONGUES) },
    { weight: 1, arbitrary: damaged(fc.constantFrom(...FOREIGN_TONGUES)) },
    { weight: 1, arbitrary: fc.constantFrom(...SMUGGLERS) },
    {
      weight: 1,
      arbitrary: fc.uint8Array({ maxLength: 200 }).map((some) => Buffer.from(some).toString('latin1')),
    },
  );
  return fc.record({
    bytes,
    cuts: fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }) },
    ),
    manner: fc.constantFrom(
      'waits' as const,
      'waits' as const,
      'half-closes' as const,
      'half-closes' as const,
      'hangs up' as const,
    ),
  });
}
