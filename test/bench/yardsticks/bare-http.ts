import { createServer, type Server } from 'node:http';
import type { ConstantAnswer } from './constant-answer.ts';

const KEEP_ALIVE_SECONDS = 75;

/** As many bytes of header as the answer has, in as few headers as `node:http` can do it with. */
function headersFor({ head, body }: ConstantAnswer): readonly string[] {
  const headers = [
    ...['Content-Type', 'application/json; charset=utf-8'],
    ...['Content-Length', String(body.length)],
  ];
  const own = [
    'HTTP/1.1 200 OK',
    ...['Content-Type: application/json; charset=utf-8', `Content-Length: ${body.length}`],
    ...[`Date: ${new Date(0).toUTCString()}`, 'Connection: keep-alive'],
    ...[`Keep-Alive: timeout=${KEEP_ALIVE_SECONDS}`, 'X-Filler: ', '', ''],
  ];
  return [...headers, 'X-Filler', 'x'.repeat(Math.max(0, head.length - own.join('\r\n').length))];
}

/** What a program of a few lines on `node:http` does: it parses a JSON body and answers a constant. */
export function createBareHttp(answer: ConstantAnswer): Server {
  const headers = headersFor(answer);
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    request.on('end', () => {
      JSON.parse(text);
      response.writeHead(200, headers as string[]).end(answer.body, 'latin1');
    });
  });
  server.keepAliveTimeout = KEEP_ALIVE_SECONDS * 1000;
  return server;
}
