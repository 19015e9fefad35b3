import { createServer, type Server } from 'node:http';

/**
 * As much of a keygen-relay as the benchmark asks of it: nodes that claim, renew and release licenses.
 * Answers with a body come in chunks, as Go sends them when they are not short.
 */
export function createStandInRelay(slots: number): Server {
  const nodes = new Set<string>();
  return createServer((request, response) => {
    const node = /^\/v1\/nodes\/([\w-]+)$/.exec(request.url ?? '')?.[1];
    const answer = (status: number, body?: object) => {
      response.writeHead(status, body === undefined ? {} : { 'Content-Type': 'application/json' });
      response.end(body === undefined ? undefined : JSON.stringify(body));
    };
    if (node === undefined) answer(404);
    else if (request.method === 'DELETE') answer(nodes.delete(node) ? 204 : 404);
    else if (request.method !== 'PUT') answer(405);
    else if (nodes.has(node)) answer(202, {});
    else if (nodes.size >= slots) answer(410);
    else answer(201, { license_file: 'x'.repeat(700), license_key: nodes.add(node).size });
  });
}
