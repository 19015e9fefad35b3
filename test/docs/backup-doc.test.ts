import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startServerHere } from '../support/server-here.ts';
import { temporaryFolder } from '../support/server-process.ts';
import { readConsoleSteps, toAnyFolder, toPattern } from './console-blocks.ts';
import { runStep } from './run-step.ts';

const PAGE = readFileSync(new URL('../../docs/backup.md', import.meta.url), 'utf8');

test('what docs/backup.md shows, from the first slot to a new machine, works as it says', async (t) => {
  const folder = temporaryFolder(t);
  const [data, backups] = [join(folder, 'data'), join(folder, 'backups')];
  mkdirSync(backups);
  writeFileSync(join(backups, 'passphrase'), 'four unrelated words are enough\n');
  let server: Awaited<ReturnType<typeof startServerHere>> | null = null;
  t.after(() => server?.stop());
  const services: Readonly<Record<string, () => Promise<void>>> = {
    'systemctl start berth': async () => {
      server = await startServerHere({ data, args: ['--demo'] });
    },
    'systemctl stop berth': async () => server?.stop(),
  };
  const toHere = (text: string) =>
    text
      .replaceAll('/var/lib/berth', data)
      .replaceAll('/var/backups/berth', backups)
      .replaceAll('http://127.0.0.1:8080', server?.url ?? '');
  const steps = readConsoleSteps(PAGE);
  assert.ok(steps.length >= 9);
  for (const { command, expected } of steps) {
    const service = services[command];
    if (service !== undefined) await service();
    else {
      const printed = await runStep(toAnyFolder(toHere(command)), { env: process.env });
      assert.match(printed.trimEnd(), toPattern(toHere(expected)), command);
    }
  }
});
