import assert from 'node:assert/strict';
import type { ErrorCode } from '@berth/protocol/errors';
import type { App } from '../../packages/server/src/http/app.ts';
import { errorsOf } from '../../packages/server/src/http/describe/openapi.ts';
import type { Route } from '../../packages/server/src/http/route.ts';

/** Makes the app fail on every response that its route does not declare, such as other errors or fields. */
export function checkDeclaredAnswers(app: App, routes: readonly Route[]): void {
  const { answer } = app;
  app.answer = async (request, peer) => {
    const reply = await answer(request, peer);
    const { method, url } = request;
    const path = (url.split('?', 1)[0] as string).replace(/(?<=.)\/$/, '');
    const route = routes.find(
      ({ paths, methods }) => paths.includes(path) && methods.some((one) => one === method),
    );
    const isOk = reply.status < 400;
    if (route !== undefined && reply.type === 'json')
      checkAnswer(route, method, isOk, JSON.parse(reply.body as string));
    return reply;
  };
}

function checkAnswer(route: Route, method: string, isOk: boolean, body: unknown): void {
  const { name, answer } = route;
  if (!isOk) {
    const { code, message } = body as { readonly code: ErrorCode; readonly message: string };
    const isListed = errorsOf(route, method).includes(code);
    assert.ok(isListed, `The route "${name}" does not declare the error "${code}". (${message})`);
    return;
  }
  if (answer.kind !== 'json') return;
  const { data, error } = answer.schema.safeParse(body);
  assert.equal(error, undefined, `The route "${name}" declares another answer. ${error}`);
  assert.deepEqual(body, data, `The route "${name}" answers with fields that it does not declare.`);
}
