import { parseArgs } from 'node:util';
import { makeUpSeed } from '../../support/random.ts';
import { playMany } from './play-many.ts';

const { values } = parseArgs({ options: { seeds: { type: 'string' }, seed: { type: 'string' } } });
const seed = Number(values.seed ?? makeUpSeed());
const seeds = Number(values.seeds ?? 100);
process.stdout.write(`seeds ${seed} to ${seed + seeds - 1}\n`);
const { acquired, released, lost, restored } = await playMany(seed, seeds);
process.stdout.write(
  `Two clients never used the slot at the same time in ${seeds} runs: it was taken ${acquired} `,
);
process.stdout.write(`times, returned ${released} times, lost ${lost} times, restored ${restored} times.\n`);
