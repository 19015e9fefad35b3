import { parseArgs } from 'node:util';
import { makeUpSeed } from '../../support/random.ts';
import { compareMany } from './compare-many.ts';
import { compareWhole } from './whole-servers.ts';

const { values } = parseArgs({
  options: { streams: { type: 'string' }, whole: { type: 'string' }, seed: { type: 'string' } },
});
const seed = Number(values.seed ?? makeUpSeed());

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

const works: (() => unknown)[] = [];
await compareMany({ seed, streams: Number(values.streams ?? 3000), say });
await compareWhole(
  { after: (work) => works.push(work) },
  { seed, streams: Number(values.whole ?? 300), say },
);
for (const work of works.reverse()) await work();
