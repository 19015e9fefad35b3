import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { request as requestTls, Agent as TlsAgent } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { ChaosPlan } from './chaos-fault.ts';
import { type ChaosProxyOptions, openChaosProxy } from './chaos-proxy.ts';

export const PATH = '/api/v4/add_consumption';
export const SENT = '{"license_id":7,"value":1}';
export const ANSWERED = '{"name":"Löwe","used":49,"limit":90}';
export const SIGNATURE = 'Zm9vYmFy+/8=';
export const HEADERS = {
  Date: 'Tue, 15 Jan 2030 12:00:00 GMT',
  'Content-Type': 'application/json',
  'Content-Length': '37',
  LicenseSignature: SIGNATURE,
  'x-Odd-SPELLING': 'kept',
};

/** Posts `SENT` and reads the whole response. */
export type Call = (url: string, signal?: AbortSignal) => Promise<Response>;
/** How a target handles its nth request. */
export type Work = (response: ServerResponse, n: number) => unknown;

export const callByFetch: Call = async (url, signal) => {
  const init = { method: 'POST', body: SENT, headers: { 'Content-Type': 'application/json' } };
  const answer = await fetch(url, { ...init, redirect: 'manual', ...(signal && { signal }) });
  const { status, headers } = answer;
  return new Response(await answer.arrayBuffer(), { status, headers });
};

function callByHttp(keepAlive: boolean): Call {
  const agents = { plain: new Agent({ keepAlive }), tls: new TlsAgent({ keepAlive }) };
  const headers = { 'Content-Type': 'application/json' };
  return async (url, signal) => {
    const isTls = url.startsWith('https:');
    const agent = isTls ? agents.tls : agents.plain;
    const options = { method: 'POST', headers, agent, ...(signal && { signal }) };
    const outgoing = (isTls ? requestTls : request)(url, options);
    outgoing.on('error', () => {}).end(SENT);
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
    const body = Buffer.concat(await incoming.toArray());
    const fields = Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]);
    return new Response(body, { status: incoming.statusCode ?? 0, headers: Object.fromEntries(fields) });
  };
}

/** Two different HTTP clients, and one that tries to keep its connection alive. */
const CALLERS: Record<string, Call> = {
  fetch: callByFetch,
  'node:http': callByHttp(false),
  'node:http with keep-alive': callByHttp(true),
};

function answerWell(response: ServerResponse): void {
  response.writeHead(200, 'Fine', HEADERS).end(ANSWERED);
}

/** A real server that records its requests. */
async function openTarget(t: TestContext, work: Work = answerWell) {
  const seen: { method: string; url: string; rawHeaders: string[]; body: string }[] = [];
  const server = createServer(async (incoming, response) => {
    const body = Buffer.concat(await incoming.toArray()).toString();
    const { method = '', url = '', rawHeaders } = incoming;
    seen.push({ method, url, rawHeaders, body });
    work(response, seen.length);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

export async function openPair(
  t: TestContext,
  plan?: ChaosPlan,
  work?: Work,
  tls?: ChaosProxyOptions['tls'],
) {
  const target = await openTarget(t, work);
  const proxy = await openChaosProxy({ target: target.url, ...(plan && { plan }), ...(tls && { tls }) });
  t.after(() => proxy.close());
  return { target, proxy, url: `${proxy.url}${PATH}?a=1` };
}

/** Runs the same test with each kind of caller. */
export function testCallers(name: string, expect: (t: TestContext, call: Call) => Promise<void>): void {
  for (const [caller, call] of Object.entries(CALLERS)) {
    test(`${name} (${caller})`, (t) => expect(t, call));
  }
}
