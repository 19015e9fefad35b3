import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { SIGNATURE_HEADER, signBytes } from '@berth/protocol/cloud/vendor-signature';
import type { Cloud, CloudFault } from '../../../packages/server/src/cloud/cloud.ts';
import { createHttpCloud } from '../../../packages/server/src/cloud/http-cloud.ts';
import { licenseId } from '../../../packages/server/src/core/nouns/license.ts';
import { rsaKeysOf } from '../rsa-keys.ts';

export const { privateKey, publicKey } = rsaKeysOf('cloud');
export const KEYS = { apiKey: 'api-1', sharedKey: 'shared-1' };
export const MACHINE = {
  ...{ hardwareId: 'machine', licenseId: licenseId(7), product: 'cad' },
  holder: { licenseKey: 'KEY-1' },
};
export const HOST = { hostname: 'alpha', osVersion: 'test', ip: '192.0.2.7', version: '1.2.3' };
const NOW = Date.UTC(2026, 5, 15, 12);

export type Work = (response: ServerResponse, request: IncomingMessage, body: string) => unknown;

/** A client for a real HTTP server that responds as the test says. */
export async function openCloud(t: TestContext, work: Work, path = '') {
  const seen: { request: IncomingMessage; body: string }[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    seen.push({ request, body });
    work(response, request, body);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  const cutOff = new AbortController();
  const rest = { publicKeys: [publicKey], timeoutMs: 20_000, signal: cutOff.signal, readWall: () => NOW };
  return { cloud: createHttpCloud({ url, ...rest }), url, seen, cutOff };
}

export function answer(
  response: ServerResponse,
  status: number,
  body: string | Buffer,
  key = privateKey,
): void {
  const bytes = Buffer.from(body as string);
  const headers = { 'Content-Length': bytes.length, [SIGNATURE_HEADER]: signBytes(key, bytes) };
  response.writeHead(status, headers).end(bytes);
}

export const LICENSE = {
  id: 7,
  license_key: 'KEY-1',
  license_type: 'perpetual',
  is_floating: true,
  floating_users: 3,
  hardware_id: 'machine',
  product_details: { product_id: 1, short_code: 'cad' },
};

export const answerWith =
  (facts: unknown, status = 200): Work =>
  (response) =>
    answer(response, status, JSON.stringify(facts));

export const OPERATIONS: Readonly<Record<string, (cloud: Cloud) => Promise<unknown>>> = {
  activate: (cloud) => cloud.activate(KEYS, MACHINE, HOST),
  check: (cloud) => cloud.check(KEYS, MACHINE),
  deactivate: (cloud) => cloud.deactivate(KEYS, MACHINE),
  report: (cloud) => cloud.report(KEYS, MACHINE, { feature: null, amount: 2, reportId: 'r-1' }),
  probe: (cloud) => cloud.probe(KEYS),
};

export async function findFault(asked: Promise<unknown>): Promise<CloudFault['reason']> {
  return asked.then(
    () => assert.fail('It was answered.'),
    ({ reason }: CloudFault) => reason,
  );
}
