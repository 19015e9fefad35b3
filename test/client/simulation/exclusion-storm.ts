import { parseArgs } from 'node:util';
import { makeUpSeed } from '../../support/random.ts';
import { PYTHON, runPython } from '../python/python.ts';
import { playMany } from './play-many.ts';

const { values } = parseArgs({ options: { seeds: { type: 'string' }, seed: { type: 'string' } } });
const seed = Number(values.seed ?? makeUpSeed());
const seeds = Number(values.seeds ?? 100);
process.stdout.write(`seeds ${seed} to ${seed + seeds - 1}\n`);
const playing = playInPython();
const { acquired, released, lost, restored } = await playMany(seed, seeds);
process.stdout.write(
  `Two clients never used the slot at the same time in ${seeds} runs: it was taken ${acquired} `,
);
process.stdout.write(`times, returned ${released} times, lost ${lost} times, restored ${restored} times.\n`);
process.stdout.write(await playing);

/** The same game between two clients in Python, on the other core. */
async function playInPython(): Promise<string> {
  if (PYTHON === null) return 'Without Python 3.9 or newer, its client was not played.\n';
  return (await runPython(['-m', 'tests.simulation.storm', String(seed), String(seeds)])).stdout;
}
