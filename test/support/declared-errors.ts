import assert from 'node:assert/strict';
import type { ErrorCode } from '@berth/protocol/errors';
import type { createApp } from '../../packages/server/src/http/app.ts';
import { errorsOf } from '../../packages/server/src/http/describe/openapi.ts';
import type { Route } from '../../packages/server/src/http/route.ts';

type App = ReturnType<typeof createApp>;

/** Makes the app fail on every error that the API document does not list for the route and method. */
export function checkDeclaredErrors(app: App, routes: readonly Route[]): void {
  const { fetch } = app;
  app.fetch = async (request, ...rest) => {
    const response = await fetch(request, ...rest);
    if (response.status >= 400) await checkError(routes, request, response.clone());
    return response;
  };
}

async function checkError(routes: readonly Route[], { method, url }: Request, response: Response) {
  const path = new URL(url).pathname.replace(/(?<=.)\/$/, '');
  const route = routes.find(
    ({ paths, methods }) => paths.includes(path) && methods.some((m) => m === method),
  );
  if (route === undefined) return;
  const { code, message } = (await response.json()) as { code: ErrorCode; message: string };
  assert.ok(
    errorsOf(route, method).includes(code),
    `The route "${route.name}" does not declare the error "${code}": add it to its "errors". (${message})`,
  );
}
