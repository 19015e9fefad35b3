/**
 * A worker that counts what it does, even while no server can be reached:
 *
 *     node batch-worker.ts http://127.0.0.1:8080 demo 20
 *
 * Counts are on disk before the next job starts. The next worker for the same server sends what this one could
 * not; those for another server wait for it.
 */
import { connect } from '@berth/client';

const [server = '', product = '', jobs = '1'] = process.argv.slice(2);

const client = connect({ server, product });
await using queue = client.openQueue();
queue.on('blocked', ({ error }) => console.error(`Counts wait: ${error.message}`));
queue.on('refused', ({ error }) => console.error(`Not counted: ${error.message} ${error.advice}`));

for (let job = 1; job <= Number(jobs); job++) {
  console.log(`Job ${job} is done.`);
  await queue.add(1);
}

const isEmpty = await queue.flush();
if (isEmpty) console.log(`The server has counted ${(await client.consume(0)).total}.`);
else console.log(`${(await queue.list()).length} counts wait for the server.`);
const others = await queue.listOthers();
if (others.length > 0) console.log(`${others.length} counts wait for another server.`);
