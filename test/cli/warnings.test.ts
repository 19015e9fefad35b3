import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { readConfig, runBerth } from '../support/berth-command.ts';
import { type ServerProcess, startServerProcess, temporaryFolder } from '../support/server-process.ts';

const folder = temporaryFolder({ after });
const [data, file] = [join(folder, 'data'), join(folder, 'berth.yaml')];
const env = { BERTH_HOTS: 'x', BERTH_CALLED_AS: './berth' };
let server: ServerProcess;

before(async () => {
  writeFileSync(file, 'page:\n  name: Old\nhistory.keepDays: 90\n');
  server = await startServerProcess({ data, env, args: ['--config', file] });
});

after(() => server.stop('SIGKILL'));

test('an unknown variable is reported with the answer, and in the log of the server', async () => {
  const unknown = 'The environment variable BERTH_HOTS is unknown. Did you mean "BERTH_HOST"?';
  const { code, stdout, stderr } = await runBerth(data, ['status', '--json'], env);
  assert.equal(code, 0);
  assert.equal(JSON.parse(stdout).healthy, true);
  assert.equal(stderr, `${unknown}\n`);
  const warnings = server
    .readLog()
    .split('\n')
    .filter((line) => line.startsWith('{"level":"warn"'));
  assert.deepEqual(
    warnings.map((line) => JSON.parse(line).msg),
    [unknown],
  );
});

test('a settings file that was changed is compared with what the running server uses', async () => {
  const words = ['config', '--config', file];
  const same = await runBerth(data, words);
  assert.match(same.stdout, new RegExp(`^page\\.name +${file} +Old$`, 'm'));
  assert.doesNotMatch(same.stdout, /DIFFERS/);
  writeFileSync(file, 'page:\n  name: New\nport: 9\n');
  const { stdout } = await runBerth(data, words);
  const differences = stdout.split('\n').filter((line) => line.startsWith('DIFFERS'));
  assert.deepEqual(differences, [
    'DIFFERS: the file now says page.name: New.',
    'DIFFERS: the file now has no history.keepDays, which is then 730.',
  ]);
  const { stdout: json } = await runBerth(data, [...words, '--json']);
  assert.deepEqual(
    [readConfig(json)['page.name'], readConfig(json).port],
    ['Old', 0],
    'the port is from a flag of the server',
  );
});
