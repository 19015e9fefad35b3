import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runBerth } from '../support/berth-command.ts';
import { startServerProcess, temporaryFolder } from '../support/server-process.ts';

test('an unknown variable is reported with the answer, and in the log of the server', async (t) => {
  const data = temporaryFolder(t);
  const env = { BERTH_HOTS: 'x', BERTH_CALLED_AS: './berth' };
  const server = await startServerProcess({ data, env });
  t.after(() => server.stop('SIGKILL'));
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
