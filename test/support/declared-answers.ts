import assert from 'node:assert/strict';
import { leftAnswer } from '@berth/protocol/api/lending';
import type { ErrorCode } from '@berth/protocol/errors';
import type { AnswerRoute, App } from '@berth/web/app';
import type { HttpRequest } from '@berth/web/http-request';
import type { Reply } from '@berth/web/reply';
import { errorsOf } from '../../packages/server/src/http/describe/openapi.ts';
import type { Route } from '../../packages/server/src/http/route.ts';

/** Makes the app fail on every response that its route does not declare, such as other errors or fields. */
export function checkDeclaredAnswers(app: App, routes: readonly Route[]): void {
  const { answer, findPlain } = app;
  const checked =
    (answerIt: AnswerRoute): AnswerRoute =>
    async (request, peer) => {
      const reply = await answerIt(request, peer);
      checkReply(routes, request, reply);
      return reply;
    };
  app.answer = checked(answer);
  app.findPlain = (path) => {
    const found = findPlain(path);
    return found === undefined ? undefined : checked(found);
  };
}

function checkReply(
  routes: readonly Route[],
  { method, url }: HttpRequest,
  { status, type, body }: Reply,
): void {
  const path = (url.split('?', 1)[0] as string).replace(/(?<=.)\/$/, '');
  const route = routes.find(
    ({ paths, methods }) => paths.includes(path) && methods.some((one) => one === method),
  );
  if (route !== undefined && type === 'json')
    checkAnswer(route, method, status < 400, JSON.parse(body as string));
}

function checkAnswer(route: Route, method: string, isOk: boolean, body: unknown): void {
  const { name, answer } = route;
  if (!isOk) {
    const { code, message } = body as { readonly code: ErrorCode; readonly message: string };
    const isListed = errorsOf(route, method).includes(code);
    assert.ok(isListed, `The route "${name}" does not declare the error "${code}". (${message})`);
    return;
  }
  if (answer.kind !== 'json' && answer.kind !== 'text') return;
  const isMinimal = answer.kind === 'json' && answer.minimal?.strict().safeParse(body).success === true;
  if (isMinimal) return;
  const schema = answer.kind === 'json' ? answer.schema : leftAnswer;
  const { data, error } = schema.safeParse(body);
  assert.equal(error, undefined, `The route "${name}" declares another answer. ${error}`);
  assert.deepEqual(body, data, `The route "${name}" answers with fields that it does not declare.`);
}
