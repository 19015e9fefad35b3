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
  {
    kind: 'Own clock: a server decides by the clock of its machine, not by that of the database.',
    file: `${SERVER}/store/postgres/write/prepare-batch.ts`,
    right: 'const wall = instant(readWall?.() ?? opened.wall);',
    wrong: 'const wall = instant(readWall?.() ?? Date.now());',
    foundBy: 'fleet-clocks',
  },
  {
    kind: 'Odd moment: on PostgreSQL, a slot that ends at this very instant is still in use.',
    file: `${SERVER}/store/postgres/write/row-table.ts`,
    right: '(endsAt) => endsAt <= now && endsAt <= horizon',
    wrong: '(endsAt) => endsAt < now && endsAt <= horizon',
    foundBy: 'model',
  },
  {
    kind: 'Ignored damage: a backup whose checksum is wrong is restored.',
    file: 'packages/shell/src/files/backup-file.ts',
    right: 'requireDigest(hash.update(head), digest);',
    wrong: 'hash.update(head);',
    foundBy: 'backup',
  },
  {
    kind: 'Old answer: an answer of the cloud with another nonce is taken for the one to this request.',
    file: `${SERVER}/cloud/judge-answer.ts`,
    right: 'if (bound.nonce !== nonce) {',
    wrong: "if (bound.nonce === '') {",
    foundBy: 'cloud-mitm',
  },
  {
    kind: 'Blind repeat: a report whose answer was lost is sent again as if it had not arrived.',
    file: `${SERVER}/services/cloud/cloud-report.ts`,
    right: 'if (mayHaveArrived) unclear.noteUnclear(reportId);',
    wrong: 'if (mayHaveArrived) unclear.noteUnsent(reportId);',
    foundBy: 'cloud-reports',
  },
  {
    kind: 'Wrong sum: a limit is compared with what was reported, not with what was counted.',
    file: `${SERVER}/core/decisions/add-consumption.ts`,
    right: 'Math.min(highest - total, LARGEST_AMOUNT',
    wrong: 'Math.min(highest - reported, LARGEST_AMOUNT',
    foundBy: 'consumption',
  },
  {
    kind: 'Misled: the server goes where its cloud redirects it.',
    file: `${SERVER}/cloud/exchange.ts`,
    right: "redirect: 'manual',",
    wrong: "redirect: 'follow',",
    foundBy: 'cloud-faults',
  },
  {
    kind: 'Wrong key: after a commit that failed, a rotation does not ask which master key is in use.',
    file: `${SERVER}/services/keys/key-custody.ts`,
    right: 'await this.#store.keepClock();',
    wrong: '',
    foundBy: 'rotation-disk',
  },
  {
    kind: 'Missing signature: a setting is read the wrong way round, so that unsigned policies are accepted.',
    file: `${SERVER}/services/offline/offline-licenses.ts`,
    right: 'isSigned: file.isSigned || options.acceptUnsignedPolicies,',
    wrong: 'isSigned: file.isSigned || !options.acceptUnsignedPolicies,',
    foundBy: 'file-tampering',
  },
  {
    kind: 'Lax reading: of two headers with one name, the fast lane takes the last.',
    file: 'packages/web/src/plain-request.ts',
    right: 'if (fields.has(key) || NEVER_PLAIN.has(key)) return null;',
    wrong: 'if (NEVER_PLAIN.has(key)) return null;',
    foundBy: 'lane',
  },
  {
    kind: 'Late start: a client counts the time of its slot from the answer, not from its request.',
    file: 'packages/client/src/servers.ts',
    right: 'return { fields, date, sentAtMs, server };',
    wrong: 'return { fields, date, sentAtMs: this.#clock.readMs(), server };',
    foundBy: 'client',
  },
  {
    kind: 'No end: a client that does not read its answer is never cut.',
    file: 'packages/web/src/connections.ts',
    right: 'if (stuckMs !== null && taken === takenBytes) return',
    wrong: 'if (stuckMs !== null && taken < takenBytes) return',
    foundBy: 'slow-clients',
  },
  {
    kind: 'Torn copy: a backup of a database is not of one moment.',
    file: `${SERVER}/store/postgres/move/postgres-source.ts`,
    right: "'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'",
    wrong: "'BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY'",
    foundBy: 'backup-postgres',
  },
  {
    kind: 'Missing proof: the cloud looks whether a request for a certificate has a proof, not at the proof.',
    file: 'packages/cloud/src/store/keys/certificates.ts',
    right: "if (!isCertificateRequestProven(caller.sharedKey, request, proof)) return 'proof_invalid';",
    wrong: "if (proof === '') return 'proof_invalid';",
    foundBy: 'first-exchange',
  },
  {
    kind: 'One too few: the last slot of a license is never lent.',
    file: `${SERVER}/core/decisions/register.ts`,
    right: 'const isFull = countInUse(view) + view.kept >= license.slots;',
    wrong: 'const isFull = countInUse(view) + view.kept + 1 >= license.slots;',
    foundBy: 'herd',
  },
  {
    kind: 'Uncaught error: a path that cannot be decoded is no error of the client.',
    file: 'packages/web/src/router.ts',
    right: "const decoded = path.includes('%') ? decode(path) : path;",
    wrong: "const decoded = path.includes('%') ? decodeURI(path) : path;",
    foundBy: 'fuzz',
  },
  {
    kind: 'Too early: a slot counts as free a second before its end.',
    file: `${SERVER}/store/engine/load/load-view.ts`,
    right: 'statements.registration.listEnded(id, now, COLLECT_LIMIT)',
    wrong: 'statements.registration.listEnded(id, (now + 1000) as Instant, COLLECT_LIMIT)',
    foundBy: 'line-timeout',
  },
  {
    kind: 'Lost slot: whoever has just left the line counts as present, so that their slot is not returned.',
    file: `${SERVER}/store/engine/line/join-line.ts`,
    right: 'if (place.lentBy === null || isPresent(left, now, line.isAlive)) {',
    wrong: 'if (place.lentBy === null || isPresent(place, now, line.isAlive)) {',
    foundBy: 'line-killed',
  },
  {
    kind: 'Forgotten return: in a trial of rules, features stay in use after their slot was returned.',
    file: `${SERVER}/core/replay/pool.ts`,
    right: '  dropAllFeatures(session);\n  endBorrow(session);',
    wrong: '  endBorrow(session);',
    foundBy: 'rule-trial',
  },
];
