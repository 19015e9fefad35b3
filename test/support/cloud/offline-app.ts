import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { openTestApp, type TestApp } from '../test-app.ts';
import { TEST_VENDOR as vendor } from './test-vendor.ts';

/** A server without a cloud that trusts the keys of the test vendor. */
export const HARDWARE_ID = 'test-machine';

export async function openOfflineApp(t: TestContext, options: Parameters<typeof openTestApp>[1] = {}) {
  const app = await openTestApp(t, {
    licenses: [],
    vendorKey: vendor.publicKey,
    airgapKey: vendor.airgapKey,
    ...options,
  });
  await app.identity.bind();
  return app;
}

/** Generates a request file. */
export async function generate(app: TestApp, body: object = {}): Promise<string> {
  const answer = await app.post('/api/v4/license/generate', body);
  assert.equal(answer.status, 200, answer.text);
  return answer.body.request_data as string;
}

export function upload(app: TestApp, file: string) {
  return app.post('/api/v4/license/upload', file);
}

export async function openWithLicense(t: TestContext) {
  const app = await openOfflineApp(t);
  const file = vendor.answer(await generate(app));
  assert.equal((await upload(app, file)).status, 200);
  return { app, file };
}

/** 200, or the reason for the refusal. */
export async function register(app: TestApp, user: string): Promise<unknown> {
  const { status, body } = await app.post('/api/v4/register', { product: 'cad', user });
  return status === 200 ? 200 : body.code;
}
