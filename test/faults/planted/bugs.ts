/** A mistake that somebody might make, and who must find it. */
export interface PlantedBug {
  /** What goes wrong, as in `docs/reliability.md`. */
  readonly kind: string;
  readonly file: string;
  /** Stands there exactly once. */
  readonly right: string;
  readonly wrong: string;
  /** The name of a fault. */
  readonly foundBy: string;
  /** How large that is then; by default, as in the suite. */
  readonly count?: number;
}

const SERVER = 'packages/server/src';

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    kind: 'Missing sync: a commit is answered before it is on the disk.',
    file: `${SERVER}/store/sqlite/wire/database.ts`,
    right: "setAndVerify(db, 'synchronous', 'FULL', 2);",
    wrong: "setAndVerify(db, 'synchronous', 'NORMAL', 1);",
    foundBy: 'powercut',
    count: 24,
  },
  {
    kind: 'Wrong order: a key file takes its place before its content is on the disk.',
    file: 'packages/shell/src/files/durable-file.ts',
    right: 'writeFileSync(draft, content, { mode: 0o600, flush: true });',
    wrong: 'writeFileSync(draft, content, { mode: 0o600 });',
    foundBy: 'powercut',
    count: 300,
  },
  {
    kind: 'Ignored checksum: a page that has changed on the disk is taken as valid.',
    file: `${SERVER}/store/sqlite/wire/page-sums.ts`,
    right: 'if (sum !== 0 && actual[index] !== sum &&',
    wrong: 'if (sum === 0 && actual[index] !== sum &&',
    foundBy: 'bitrot',
  },
  {
    kind: 'Early end: after a pause of the server, slots are not extended by it.',
    file: `${SERVER}/core/clock/clock.ts`,
    right: 'const downFrom = (now: Instant) => (now - mark > restMs ? mark : null);',
    wrong: 'const downFrom = (now: Instant) => (now - mark > 1e12 * restMs ? mark : null);',
    foundBy: 'pause',
    count: 40,
  },
  {
    kind: 'Wrong time: the server follows a clock that is set back.',
    file: `${SERVER}/core/clock/clock.ts`,
    right: 'const now = later(running, wall);',
    wrong: 'const now = wall;',
    foundBy: 'clock',
    count: 40,
  },
  {
    kind: 'One too many: a full license lends another slot.',
    file: `${SERVER}/core/decisions/register.ts`,
    right: 'const isFull = countInUse(view) + view.kept >= license.slots;',
    wrong: 'const isFull = countInUse(view) + view.kept > license.slots;',
    foundBy: 'kill',
  },
  {
    kind: 'Double count: a key that was sent before counts again.',
    file: `${SERVER}/core/lending/repeat-answer.ts`,
    right: 'return now < answeredAt + ANSWER_LIFETIME_MS;',
    wrong: 'return now < answeredAt;',
    foundBy: 'count',
    count: 4,
  },
  {
    kind: 'Lost renewal: what a heartbeat moved is not stored.',
    file: `${SERVER}/store/sqlite/write/renewal-log.ts`,
    right: 'this.#append.run(licenseId, endsAt, JSON.stringify(users));',
    wrong: 'if (users.length > 1) this.#append.run(licenseId, endsAt, JSON.stringify(users));',
    foundBy: 'clock',
    count: 80,
  },
  {
    kind: 'Missing lock: two servers decide about one license at the same time.',
    file: `${SERVER}/store/postgres/write/transaction.ts`,
    right: "const LOCK_ONE = 'SELECT * FROM license WHERE id = $1 FOR NO KEY UPDATE';",
    wrong: "const LOCK_ONE = 'SELECT * FROM license WHERE id = $1';",
    foundBy: 'fleet',
  },
  {
    kind: 'Endless patience: a server that was stopped keeps its locks for an hour.',
    file: `${SERVER}/store/postgres/write/transaction.ts`,
    right: 'idle_in_transaction_session_timeout: SILENCE_TIMEOUT_MS,',
    wrong: 'idle_in_transaction_session_timeout: 3_600_000,',
    foundBy: 'pause-fleet',
  },
  {
    kind: 'Unknown commit: a change that was committed as the connection broke is made again.',
    file: `${SERVER}/store/postgres/write/receipts.ts`,
    right: 'value === batch && key.startsWith',
    wrong: "value === '' && key.startsWith",
    foundBy: 'database',
    count: 40,
  },
  {
    kind: 'Missing record: a slot that is returned leaves no event.',
    file: `${SERVER}/core/lending/free-slot.ts`,
    right: '{ ...event, ...severalPrograms((base.held as Registration).programs) },',
    wrong: '',
    foundBy: 'kill',
  },
  {
    kind: 'Jumped queue: who came last is served first.',
    file: `${SERVER}/store/engine/line/waiting-line.ts`,
    right: 'this.#sorted ??= [...this.places.values()].sort(compareTurns);',
    wrong: 'this.#sorted ??= [...this.places.values()].sort((a, b) => compareTurns(b, a));',
    foundBy: 'line',
  },
  {
    kind: 'Ignored failure: after a failed sync, the server carries on with what it has in memory.',
    file: `${SERVER}/store/sqlite/write/writer.ts`,
    right: 'if (!this.#recovery.isBroken) return;',
    wrong: 'if (this.#recovery !== undefined) return;',
    foundBy: 'disk',
  },
];
