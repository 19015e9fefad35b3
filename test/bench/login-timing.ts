import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { startServerProcess } from '../support/server-process.ts';
import { describeCores, pinServer } from './cores.ts';
import { makeFolder } from './servers.ts';
import { type Comparison, compare, quantile, type TwoSamples } from './two-samples.ts';

const USAGE = `npm run bench:login -- [--samples N]

  Whether the time of a failed sign-in tells if there is such an account: a wrong password and a wrong name
  by turns, in random order, over one connection, each in the name of another address: none is slowed down.

  --samples N  of each kind, for each of the two ways in; 500 unless told, which takes some minutes
  --help       print this
`;

const WARM_UP = 20;

interface Credentials {
  readonly name: string;
  readonly password: string;
}

interface WayIn {
  readonly path: string;
  readonly method: string;
  headers(credentials: Credentials): Readonly<Record<string, string>>;
  body(credentials: Credentials): string;
}

const WAYS_IN: readonly WayIn[] = [
  {
    path: '/auth',
    method: 'GET',
    headers: ({ name, password }) => ({
      authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
    }),
    body: () => '',
  },
  {
    path: '/api/admin/session/start',
    method: 'POST',
    headers: () => ({ 'content-type': 'application/json' }),
    body: (credentials) => JSON.stringify(credentials),
  },
];

/** As long as the names and passwords that there are, and never the same twice. */
const KINDS = {
  first: () => ({ name: 'admin', password: randomBytes(10).toString('hex') }),
  second: () => ({
    name: randomBytes(3).toString('hex').slice(1),
    password: randomBytes(10).toString('hex'),
  }),
} as const;

type Kind = keyof typeof KINDS;

interface Timed {
  readonly millis: number;
  /** All of the answer but its date. */
  readonly answer: string;
}

async function timeSignIn(url: string, agent: Agent, way: WayIn, credentials: Credentials): Promise<Timed> {
  const body = way.body(credentials);
  const headers = {
    ...way.headers(credentials),
    'content-length': String(Buffer.byteLength(body)),
    'x-forwarded-for': `10.${[...randomBytes(3)].join('.')}`,
  };
  const startedMs = performance.now();
  const outgoing = request(url + way.path, { agent, method: way.method, headers });
  outgoing.end(body);
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  const chunks = await incoming.setEncoding('utf8').toArray();
  const millis = performance.now() - startedMs;
  if (incoming.statusCode !== 401) throw new Error(`${incoming.statusCode}: ${chunks.join('')}`);
  const { date, ...rest } = incoming.headers;
  return { millis, answer: JSON.stringify([rest, chunks.join('')]) };
}

interface Measured {
  readonly samples: TwoSamples;
  /** How many different answers there were. */
  readonly answers: number;
}

async function measure(url: string, way: WayIn, count: number): Promise<Measured> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const samples: Record<Kind, number[]> = { first: [], second: [] };
  const answers = new Set<string>();
  try {
    for (let turn = -WARM_UP; turn < count; turn++) {
      const order: Kind[] = Math.random() < 0.5 ? ['first', 'second'] : ['second', 'first'];
      for (const kind of order) {
        const { millis, answer } = await timeSignIn(url, agent, way, KINDS[kind]());
        if (turn >= 0) samples[kind].push(millis);
        answers.add(answer);
      }
    }
  } finally {
    agent.destroy();
  }
  return { samples, answers: answers.size };
}

/** Beyond what chance does, and of some use to somebody. */
function canBeTold({ rankP, medianP, auc }: Comparison): boolean {
  return Math.min(rankP, medianP) < 0.01 && Math.abs(auc - 0.5) > 0.05;
}

function formatRow(what: string, values: readonly number[]): string {
  const parts = [0.05, 0.25, 0.5, 0.75].map((share) => quantile(values, share).toFixed(2).padStart(8));
  return `  ${what.padEnd(16)}${parts.join('')}\n`;
}

function formatResult({ path }: WayIn, { samples, answers }: Measured, result: Comparison): string {
  const { difference, interval, auc, rankP, medianP } = result;
  const [low, high] = interval.map((value) => value.toFixed(2));
  return [
    `\n${path}: ${samples.first.length} of each, in ms; 5, 25, 50 and 75 % are below\n`,
    formatRow('wrong password', samples.first),
    formatRow('wrong name', samples.second),
    `  difference of the medians ${difference.toFixed(2)} ms, 95 % within ${low} … ${high} ms, `,
    `p = ${medianP.toFixed(3)}\n`,
    `  AUC ${auc.toFixed(3)}, p = ${rankP.toFixed(3)} (Mann–Whitney)\n`,
    `  ${answers === 1 ? 'the answers are all the same' : `there are ${answers} different answers`}; `,
    `${canBeTold(result) ? 'the time TELLS them apart' : 'the time does not tell them apart'}\n`,
  ].join('');
}

/** Whether nothing tells a wrong name from a wrong password. */
async function run(count: number): Promise<boolean> {
  const { folder, remove } = makeFolder();
  const args = ['--http-trusted-proxies', '127.0.0.1'];
  const server = await startServerProcess({ data: folder, under: pinServer(), args });
  const interrupt = async () => {
    await server.stop('SIGKILL');
    remove();
    process.exit(130);
  };
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  let isGood = true;
  try {
    process.stdout.write(`cores: ${describeCores()}; load before: ${loadavg()[0]?.toFixed(1)}\n`);
    for (const way of WAYS_IN) {
      const measured = await measure(server.url, way, count);
      const result = compare(measured.samples, Math.random);
      process.stdout.write(formatResult(way, measured, result));
      isGood &&= measured.answers === 1 && !canBeTold(result);
    }
  } finally {
    await server.stop();
    remove();
  }
  return isGood;
}

const { values } = parseArgs({
  options: { samples: { type: 'string', default: '500' }, help: { type: 'boolean', default: false } },
});
const count = Number(values.samples);
if (values.help) process.stdout.write(USAGE);
else if (!(Number.isInteger(count) && count >= 10 && count <= 100_000)) {
  process.stderr.write(`--samples takes a whole number from 10 to 100000.\n\n${USAGE}`);
  process.exitCode = 2;
} else process.exitCode = (await run(count)) ? 0 : 1;
