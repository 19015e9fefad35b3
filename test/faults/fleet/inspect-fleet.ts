import type { Facts } from '../../support/berth-api.ts';
import { pollUntil } from '../../support/poll.ts';
import type { ServerUnderTest } from '../../support/server-under-test.ts';
import type { Fleet } from './fleet.ts';
import type { FleetBook } from './fleet-book.ts';

/** What must be true of every database of ours: each row that comes back is something that is wrong. */
const CHECKS = [
  {
    what: 'a license counts other slots in use than there are',
    statement: `SELECT l.id, l.in_use, count(r."user") AS held FROM license l
      LEFT JOIN registration r ON r.license_id = l.id
      GROUP BY l.id HAVING l.in_use <> count(r."user")`,
  },
  {
    what: 'a feature counts other slots in use than there are',
    statement: `SELECT m.license_id, m.feature, m.in_use, count(f."user") AS held FROM meter m
      LEFT JOIN feature_slot f ON f.license_id = m.license_id AND f.feature = m.feature
      GROUP BY m.license_id, m.feature, m.in_use HAVING m.in_use <> count(f."user")`,
  },
  {
    what: 'more slots than the license has',
    statement: "SELECT id, in_use FROM license WHERE in_use > (facts::json->>'slots')::bigint",
  },
  {
    what: 'more slots than the feature has',
    statement: `SELECT m.feature, m.in_use FROM meter m JOIN license l ON l.id = m.license_id,
      json_array_elements(l.facts::json->'features') AS granted
      WHERE value->>'code' = m.feature AND m.in_use > (value->'floating'->>'slots')::bigint`,
  },
  {
    what: 'the head of a chain is not its last link',
    statement: `SELECT l.id, l.audit_n, max(a.n) AS last, count(a.n) AS links FROM license l
      LEFT JOIN audit_link a ON a.chain = l.id
      GROUP BY l.id HAVING l.audit_n <> count(a.n) OR l.audit_n <> coalesce(max(a.n), 0)`,
  },
  {
    what: 'a chain is numbered in another order than it was written',
    statement: `SELECT chain, n, seq FROM (
        SELECT chain, n, seq, lag(seq) OVER (PARTITION BY chain ORDER BY n) AS before FROM audit_link
      ) AS links WHERE before >= seq`,
  },
] as const;

/** Says what is wrong in a database, whatever was asked of its servers. */
export async function findBrokenRows(
  query: (statement: string) => Promise<readonly Facts[]>,
): Promise<readonly string[]> {
  const broken: string[] = [];
  for (const { what, statement } of CHECKS) {
    for (const row of await query(statement)) broken.push(`${what}: ${JSON.stringify(row)}`);
  }
  return broken;
}

/** Compares the database, and what every server says of it, with everything that was answered. */
export async function inspectFleet(fleet: Fleet, book: FleetBook): Promise<void> {
  const { violations } = book;
  await waitForNumbers(fleet).catch((error: Error) => violations.push(error.message));
  violations.push(...(await findBrokenRows((statement) => fleet.query(statement))));
  const events = await readEvents(fleet);
  replaySlots(events, book);
  await compareCounts(fleet, events, book);
  const running = fleet.servers.filter(({ isRunning }) => isRunning);
  for (const server of running) await compareHolders(server, book);
  const [first] = running;
  if (first === undefined) return;
  const verdict = await fleet.runBerth(first, ['audit', 'verify']);
  if (verdict.code !== 0) violations.push(`audit verify: ${verdict.stdout}${verdict.stderr}`);
}

/** The leader numbers them every second. */
async function waitForNumbers(fleet: Fleet): Promise<void> {
  await pollUntil('every link has its number', async () => {
    const [row] = await fleet.query('SELECT count(*)::int AS count FROM audit_link WHERE seq IS NULL');
    return row?.count === 0 ? true : undefined;
  });
}

/** The events of the license in the order of its chain. */
async function readEvents(fleet: Fleet): Promise<readonly Facts[]> {
  const links = await fleet.query('SELECT events FROM audit_link WHERE chain = 1 ORDER BY n');
  return links.flatMap(({ events }) => JSON.parse(events as string) as readonly Facts[]);
}

const LEAVING = new Set(['slot_returned', 'slot_expired']);

/** The records alone must tell who held a slot when, and never tell of more than there are. */
function replaySlots(events: readonly Facts[], book: FleetBook): void {
  const { violations } = book;
  const holders = new Set<unknown>();
  const lent = new Map<unknown, number>();
  let slots = 0;
  for (const { kind, user, ...rest } of events) {
    if (kind === 'license_added') slots = rest.slots as number;
    if (kind === 'slot_lent') {
      if (holders.has(user)) violations.push(`recorded: ${user} was lent a second slot`);
      holders.add(user);
      lent.set(user, (lent.get(user) ?? 0) + 1);
      if (holders.size > slots) violations.push(`recorded: ${holders.size} of ${slots} slots lent at once`);
    }
    if (LEAVING.has(kind as string) && !holders.delete(user))
      violations.push(`recorded: ${kind} of ${user}, who held none`);
  }
  for (const user of new Set([...book.users, ...lent.keys()])) {
    const { least, most } = book.lent.get(user as string) ?? { least: 0, most: 0 };
    const found = lent.get(user) ?? 0;
    if (found < least || found > most)
      violations.push(`recorded: ${user} was lent ${found} slots; by the answers ${least} to ${most}`);
  }
}

/** Nothing that was answered is missing, and nothing was counted twice. */
async function compareCounts(fleet: Fleet, events: readonly Facts[], book: FleetBook): Promise<void> {
  const { countedWithKey, violations } = book;
  const rows = await fleet.query(
    'SELECT feature, sum(total)::int AS total FROM consumption_total GROUP BY 1',
  );
  const added = events.filter(({ kind }) => kind === 'consumption_added');
  for (const code of ['', 'export']) {
    const total = rows.find(({ feature }) => feature === code)?.total ?? 0;
    const recorded = added
      .filter(({ feature }) => (feature ?? '') === code)
      .reduce((sum, event) => sum + (event.count as number), 0);
    if (total !== recorded) violations.push(`counted ${total} of "${code}", and recorded ${recorded}`);
    if (code === '' && total !== countedWithKey)
      violations.push(`counted ${total} with keys; by the answers ${countedWithKey}`);
  }
  compareSingleCounts(
    added.filter(({ feature }) => feature === 'export'),
    book,
  );
}

/** Without a key: once when it was answered, at most once when it was not. */
function compareSingleCounts(
  added: readonly Facts[],
  { counted, countedPerhaps, violations }: FleetBook,
): void {
  const missing = new Map(counted);
  const possible = new Map(countedPerhaps);
  for (const { user, count } of added) {
    const amounts = missing.has(user as string) ? missing : possible;
    if (amounts.get(user as string) !== count)
      violations.push(`${user} was counted once too often: ${count}`);
    amounts.delete(user as string);
  }
  for (const user of missing.keys()) violations.push(`${user} was answered and not counted`);
}

/** Every server shows the same holders, and those of whom the answers are sure. */
async function compareHolders({ api, url }: ServerUnderTest, book: FleetBook): Promise<void> {
  const { slots, users, violations } = book;
  const held = (await api.holders()).filter(({ license_id }) => license_id === 1).map(({ user }) => user);
  for (const user of users) {
    if (slots.isCertain(user) && !held.includes(user)) violations.push(`${url}: the slot of ${user} is lost`);
    if (!slots.isKnown(user) && held.includes(user)) violations.push(`${url}: ${user} still holds a slot`);
  }
  for (const user of held) {
    if (!users.includes(user)) violations.push(`${url}: ${user} holds a slot and was never lent one`);
  }
}
