import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ERROR_CODES } from '@berth/protocol/errors';
import { registrationRoutes } from '../../packages/server/src/http/routes/admin/registrations.ts';
import { featureRoutes } from '../../packages/server/src/http/routes/v4/features.ts';
import { lendingRoutes } from '../../packages/server/src/http/routes/v4/lending.ts';

const PAGE = readFileSync(new URL('../../docs/leases.md', import.meta.url), 'utf8');

test('docs/leases.md lists every refusal of the lending routes, in order of precedence', () => {
  const [, section = ''] = /^## Refusals, in order$([\s\S]*?)^## /m.exec(PAGE) ?? [];
  const list = Array.from(section.matchAll(/^(?:\d+\.| ) .*/gm), ([line]) => line).join('\n');
  const told = Array.from(list.matchAll(/`([a-z_]+)`/g), ([, code]) => code);
  const lending = [lendingRoutes, featureRoutes, registrationRoutes];
  const routes = lending.flatMap((describe) => describe({} as never));
  const declared = new Set(routes.flatMap(({ errors }) => errors));
  assert.deepEqual(
    told,
    ERROR_CODES.filter((code) => declared.has(code)),
  );
});
