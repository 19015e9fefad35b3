/**
 * A command line tool that needs a slot while it works:
 *
 *     node cli-tool.ts http://127.0.0.1:8080 demo drawing.dwg
 *
 * It waits up to five minutes for a slot, and returns it when it ends, however it ends.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { acquire, BerthError } from '@berth/client';

const [server = '', product = '', ...files] = process.argv.slice(2);

async function convert(file: string): Promise<void> {
  await delay(100);
  console.log(`${file} is converted.`);
}

try {
  const onWait = ({ error }: { error: Error }) => console.error(`Waiting: ${error.message}`);
  await using slot = await acquire({ server, product, wait: '5m', onWait });
  for (const file of files) {
    slot.assertHeld();
    await convert(file);
  }
} catch (error) {
  if (!(error instanceof BerthError)) throw error;
  console.error(`${error.message} ${error.advice}`);
  process.exitCode = 75;
}
