import { mkdtempSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildProgram } from '../../runner/build-program.ts';
import { findProgram, type Program } from '../../support/program.ts';
import { createRandom, pickOne } from '../../support/random.ts';
import { temporaryFolder } from '../../support/server-process.ts';
import type { Control, Fault, Findings, Order } from '../door/fault.ts';
import { COMPILER } from '../door/needs.ts';
import { Checkers } from './checkers.ts';
import { dropSynced, hideFailure, ignoreSyncs, type Lie } from './control-lies.ts';
import { type Dice, LOSING, writeCut } from './cut.ts';
import { Disk } from './disk.ts';
import { pickCuts } from './pick-cuts.ts';
import type { Play, Recording } from './recording.ts';
import { MIXED, SCENARIOS, type Scenario } from './scenarios.ts';
import { Tally } from './tally.ts';

/** One recording gives so many states at most; more recordings differ more. */
const CUTS_PER_RECORDING = 250;
/** So many changes are acknowledged in a recording. */
const CHANGES = { small: 36, full: 250 } as const;
const LIVES = { small: 1, full: 3 } as const;
/** One in so many states is started as a process. */
const PROCESS_EVERY = { small: 30, full: 200 } as const;

/** So many are checked before other processes have started to do it. */
const FEW_STATES = 5;

interface Job {
  readonly scenario: Scenario;
  readonly cuts: number;
  readonly seed: number;
}

/** Everything that a run of cuts needs. */
class Workshop {
  readonly program: Program;
  readonly checkers: Checkers;
  readonly folder: string;

  private constructor(program: Program, checkers: Checkers, folder: string) {
    this.program = program;
    this.checkers = checkers;
    this.folder = folder;
  }

  static async open({ life, count }: Order): Promise<Workshop> {
    const { TEST_PROGRAM, TEST_FILES } = process.env;
    const given = TEST_PROGRAM === undefined || TEST_FILES === undefined ? await buildProgram() : {};
    const built = { ...given, ...process.env } as Record<'TEST_PROGRAM' | 'TEST_FILES', string>;
    const processes = Math.min(count, availableParallelism());
    const checkers = count <= FEW_STATES ? new Checkers() : Checkers.fork(processes, built, life);
    return new Workshop(findProgram(built.TEST_PROGRAM), checkers, temporaryFolder(life));
  }

  play({ life, size }: Order, seed: number): Play {
    return { seed, changes: CHANGES[size], lives: LIVES[size], program: this.program, life };
  }

  newRoot(): string {
    return mkdtempSync(join(this.folder, 'state-'));
  }
}

/** So that every scenario has its share, and at least one. If there are too few for all, the seed chooses. */
function planJobs({ count, seed }: Order): Job[] {
  const first = count < SCENARIOS.length ? seed % SCENARIOS.length : 0;
  const scenarios = [...SCENARIOS.slice(first), ...SCENARIOS.slice(0, first)];
  const shares = scenarios.reduce((sum, { share }) => sum + share, 0);
  let left = count;
  const jobs: Job[] = [];
  for (const [index, scenario] of scenarios.entries()) {
    const isLast = index === scenarios.length - 1;
    const wanted = isLast ? left : Math.min(left, Math.max(1, Math.round((count * scenario.share) / shares)));
    left -= wanted;
    for (let done = 0; done < wanted; done += CUTS_PER_RECORDING) {
      jobs.push({
        scenario,
        cuts: Math.min(CUTS_PER_RECORDING, wanted - done),
        seed: seed + 1000 * jobs.length,
      });
    }
  }
  return jobs;
}

async function cutThePower(order: Order): Promise<Findings> {
  const workshop = await Workshop.open(order);
  const jobs = planJobs(order);
  const tally = new Tally();
  // One records while the states of the other are checked.
  const work = async () => {
    for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
      await carryOut(job, order, workshop, tally);
      order.say(`${tally.describe()}, ${job.scenario.name}`);
    }
  };
  await Promise.all([work(), work()]);
  return tally.report();
}

async function carryOut(job: Job, order: Order, workshop: Workshop, tally: Tally): Promise<void> {
  const { scenario, cuts, seed } = job;
  const { size } = order;
  const recording = await scenario.record(workshop.play(order, seed)).catch((error: Error) => {
    tally.violations.push(`${scenario.name}, seed ${seed}: it cannot be recorded: ${error.message}`);
    return null;
  });
  if (recording === null) return;
  tally.noteRecording(recording.record);
  const positions = pickCuts(recording, cuts, seed);
  const disk = new Disk(recording.image);
  let done = 0;
  await Promise.all(
    positions.map(async (cut, index) => {
      const dice = () => ({ random: createRandom(seed + index + 1) });
      const expected = recording.expectAt(cut);
      const isProcess = tally.plan() % PROCESS_EVERY[size] === 0;
      const verdict = await workshop.checkers.check(() => {
        for (; done < cut; done++) disk.apply(recording.record[done] as Recording['record'][number]);
        const root = workshop.newRoot();
        writeCut(disk.root, root, dice());
        return { root, expected, isProcess };
      });
      const acknowledged = expected?.at(-1)?.acknowledged ?? 0;
      tally.noteState({ scenario: scenario.name, isProcess, acknowledged, ...verdict });
      if (verdict.wrong.length === 0) return;
      const kept = tally.violations.length < MOST_KEPT ? keep(recording, cut, dice()) : 'not kept';
      const violation = `${scenario.name}, seed ${seed}, cut ${cut}: ${verdict.wrong.join('; ')} (${kept})`;
      tally.violations.push(violation);
      order.say(violation);
    }),
  );
}

const MOST_KEPT = 5;

/** The timing of a server is never the same twice, so the state is kept. */
function keep({ image, record }: Recording, cut: number, dice: Dice): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-powercut-'));
  const disk = new Disk(image);
  for (const happening of record.slice(0, cut)) disk.apply(happening);
  writeCut(disk.root, folder, dice);
  return `kept in ${folder}`;
}

let recorded: Promise<Recording> | undefined;

/** All controls may use the same one. */
function recordOnce(order: Order, workshop: Workshop): Promise<Recording> {
  recorded ??= MIXED.record(workshop.play(order, order.seed));
  return recorded;
}

/** Right after changes that were acknowledged, on a disk that has lied about them. */
function makeControl(name: string, lie: Lie): Control {
  const run = async (order: Order) => {
    const { size, seed, count } = order;
    const workshop = await Workshop.open(order);
    const { image, record, book, expectAt } = await recordOnce(order, workshop);
    const random = createRandom(seed);
    const acknowledged = book.listAcknowledged().slice(10);
    const attempt = async () => {
      const cut = pickOne(random, acknowledged);
      const disk = new Disk(image);
      for (const happening of lie(record.slice(0, cut), random)) disk.apply(happening);
      const root = workshop.newRoot();
      writeCut(disk.root, root, { random, moods: size === 'small' ? ['gone'] : LOSING });
      const state = { root, expected: expectAt(cut), isProcess: false };
      return (await workshop.checkers.check(() => state)).wrong.length > 0;
    };
    const found = await Promise.all(Array.from({ length: count }, attempt));
    return { count, found: found.filter(Boolean).length };
  };
  return { name, sizes: { small: 1, full: 50 }, leastShare: 0.7, run };
}

export const powercut: Fault = {
  name: 'powercut',
  promises: [2, 3, 5],
  promise: 'After a power cut, everything that was acknowledged is there, and nothing that was refused.',
  unit: 'power cuts',
  sizes: { small: 2, full: 20_000 },
  run: cutThePower,
  controls: [
    makeControl('writes are lost that were synced', dropSynced),
    makeControl('syncs are ignored', ignoreSyncs),
    makeControl('failed syncs are hidden', hideFailure),
  ],
  hasFound: [
    'The name of a new data folder was not synced, so a power cut could lose the folder.',
    'If the rename of a new master key could not be synced, the next rotation could remove that key, while ' +
      'the disk still had its predecessor under the name.',
  ],
  needs: [COMPILER],
};
