import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createBareHttp } from './bare-http.ts';
import { createBareNet } from './bare-net.ts';

/** The process of a yardstick: `http` or `net`, and the files with the body and the head of its answer. */
const [, , kind, bodyFile, headFile] = process.argv;
const answer = {
  head: readFileSync(headFile as string, 'latin1'),
  body: readFileSync(bodyFile as string, 'latin1'),
};
const server = kind === 'net' ? createBareNet(answer) : createBareHttp(answer);
server.listen(0, '127.0.0.1', () => {
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.once('disconnect', () => process.exit());
