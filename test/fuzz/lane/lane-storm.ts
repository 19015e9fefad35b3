import { parseArgs } from 'node:util';
import { makeUpSeed } from '../../support/random.ts';
import { compareMany } from './compare-many.ts';

const { values } = parseArgs({ options: { streams: { type: 'string' }, seed: { type: 'string' } } });

await compareMany({
  seed: Number(values.seed ?? makeUpSeed()),
  streams: Number(values.streams ?? 3000),
  say: (text) => process.stdout.write(`${text}\n`),
});
