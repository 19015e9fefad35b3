import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePage } from '../../build/page.ts';

/** It takes the types of the admin API from schemas, which must not come with them. */
test("the administrator's page carries no packages but preact and uqr", async () => {
  const { packages } = await makePage();
  assert.deepEqual(packages, ['node_modules/preact', 'node_modules/uqr']);
});
