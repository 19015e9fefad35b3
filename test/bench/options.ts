import { parseArgs } from 'node:util';
import { againstScenarios } from './against/against-scenarios.ts';
import { readPeerWish } from './against/peer.ts';
import { POSTGRES_SCENARIOS } from './postgres-scenarios.ts';
import type { StoreKind } from './report/report.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';

const ALL: Readonly<Record<StoreKind, readonly Scenario[]>> = {
  sqlite: SCENARIOS,
  postgres: POSTGRES_SCENARIOS,
};

/** What the other server's license has unless told; that of `berth serve --demo`. */
const DEMO = { product: 'demo', slots: '5' };

const NO_LICENSE = { product: '', countingProduct: null, slots: 0 };

export const USAGE = `npm run bench -- [--store STORE] [--scenario NAME]… [--seconds N] [--runs N]
             [--patience N] [--json] [--write]
npm run bench -- --against OTHER [--scenario NAME]… [--product NAME] [--slots N] [--counting-product NAME]

  --store STORE    sqlite, or postgres, which is started beside the server; sqlite unless told
  --scenario NAME  only this one; may be given more than once
  --seconds N      how long one measurement takes; 3 unless told
  --runs N         how often to measure everything; once unless told
  --patience N     how many minutes of each run to pause in all, while other programs disturb; 0 unless told
  --json           print the results as JSON
  --write          record the results for docs/performance.md; needs all scenarios of a store
  --against OTHER  by turns with another server: checkout=FOLDER, a clone of Berth that is started from there;
                   berth=URL, a Berth that runs; relay=URL, a keygen-relay that runs
  --product NAME   what to ask the other Berth for; "${DEMO.product}" unless told
  --slots N        how many slots that license, or the relay, has; ${DEMO.slots} unless told
  --counting-product NAME  a license of the other Berth that counts without end; without it, that is left out
  --help           print this

sqlite:
${listScenarios(ALL.sqlite)}
postgres:
${listScenarios(ALL.postgres)}
against:
${listScenarios(againstScenarios({ kind: 'checkout', place: '' }, NO_LICENSE))}
`;

function listScenarios(scenarios: readonly Scenario[]): string {
  return scenarios.map(({ name, about }) => `  ${name.padEnd(18)} ${about}`).join('\n');
}

export interface Options {
  readonly store: StoreKind;
  readonly scenarios: readonly Scenario[];
  readonly seconds: number;
  readonly runs: number;
  readonly patienceMinutes: number;
  readonly json: boolean;
  readonly write: boolean;
}

function parse(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    options: {
      store: { type: 'string', default: 'sqlite' },
      scenario: { type: 'string', multiple: true, default: [] },
      seconds: { type: 'string', default: '3' },
      runs: { type: 'string', default: '1' },
      patience: { type: 'string', default: '0' },
      json: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      against: { type: 'string' },
      product: { type: 'string', default: DEMO.product },
      'counting-product': { type: 'string' },
      slots: { type: 'string', default: DEMO.slots },
    },
  }).values;
}

/** Those of the store, or those against the other server. */
function findScenarios(store: StoreKind, values: ReturnType<typeof parse>): readonly Scenario[] {
  if (values.against === undefined) return ALL[store];
  if (store !== 'sqlite') throw new Error('--against compares servers on SQLite.');
  const slots = Number(values.slots);
  if (!Number.isInteger(slots) || slots < 1) throw new Error('--slots takes a whole number from 1.');
  const { product, 'counting-product': countingProduct = null } = values;
  return againstScenarios(readPeerWish(values.against), { product, countingProduct, slots });
}

/** Throws what the user did wrong. */
export function readOptions(args: readonly string[]): Options {
  const values = parse(args);
  const { store, scenario: names, json, write } = values;
  if (store !== 'sqlite' && store !== 'postgres') throw new Error('--store takes sqlite or postgres.');
  const all = findScenarios(store, values);
  const unknown = names.find((name) => !all.some((scenario) => scenario.name === name));
  if (unknown !== undefined) throw new Error(`There is no scenario "${unknown}" here.`);
  const seconds = Number(values.seconds);
  if (!(seconds >= 0.5 && seconds <= 60)) throw new Error('--seconds takes a number from 0.5 to 60.');
  const runs = Number(values.runs);
  if (!Number.isInteger(runs) || runs < 1 || runs > 9) throw new Error('--runs takes a number from 1 to 9.');
  const patienceMinutes = Number(values.patience);
  if (!(patienceMinutes >= 0)) throw new Error('--patience takes a number of minutes.');
  if (write && (names.length > 0 || values.against !== undefined))
    throw new Error('--write needs all scenarios of a store.');
  const isWanted = ({ name, isLong = false }: Scenario) =>
    names.length === 0 ? write || !isLong : names.includes(name);
  const scenarios = all.filter(isWanted);
  return { store, scenarios, seconds, runs, patienceMinutes, json, write };
}
