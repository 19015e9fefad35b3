import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import openapiTS, { astToString } from 'openapi-typescript';
import { temporaryFolder } from '../../support/server-process.ts';
import { findUncalled, openSite, readDocument } from './site.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const PROGRAM = fileURLToPath(new URL('call-every-operation.ts', import.meta.url));

test('a client that openapi-typescript generates can call every operation of the v4 API', async (t) => {
  const site = await openSite(t);
  const folder = temporaryFolder(t);
  const types = await openapiTS(JSON.stringify(await readDocument(site.url)));
  writeFileSync(join(folder, 'api.ts'), astToString(types));
  await checkTypes(folder);
  assert.deepEqual(await findUncalled([process.execPath, PROGRAM], {}, site), []);
});

/** With the project's compiler and options. */
async function checkTypes(folder: string): Promise<void> {
  const config = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: {
      paths: { 'berth-api': [join(folder, 'api.ts')] },
      typeRoots: [join(ROOT, 'node_modules/@types')],
    },
    files: [PROGRAM],
    include: [],
    exclude: [],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const check = promisify(execFile)(process.execPath, [tsc, '--singleThreaded', '-p', folder]);
  await check.catch(({ stdout }: { readonly stdout: string }) => assert.fail(stdout));
}
