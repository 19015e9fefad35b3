import type { Facts } from './berth-api.ts';
import type { Fleet } from './fleet.ts';
import type { FleetBook } from './fleet-book.ts';
import { pollUntil } from './poll.ts';
import type { ServerUnderTest } from './server-under-test.ts';

/** What must be true of every database of ours: each row that comes back is something that is wrong. */
const SOUND = {
  'a license counts other slots in use than there are': `SELECT l.id, l.in_use, count(r."user") AS held FROM license l LEFT JOIN registration r
     ON r.license_id = l.id GROUP BY l.id HAVING l.in_use <> count(r."user")`,
  'a feature counts other slots in use than there are': `SELECT m.license_id, m.feature, m.in_use, count(f."user") AS held FROM meter m LEFT JOIN feature_slot f
     ON f.license_id = m.license_id AND f.feature = m.feature
     GROUP BY m.license_id, m.feature, m.in_use HAVING m.in_use <> count(f."user")`,
  'more slots than the license has': `SELECT id, in_use FROM license WHERE in_use > (facts::json->>'slots')::bigint`,
  'more slots than the feature has': `SELECT license_id, feature, in_use FROM meter
     WHERE feature = 'render' AND in_use > 2`,
  'the head of a chain is not its last link': `SELECT l.id, l.audit_n, max(a.n) AS last, count(a.n) AS links FROM license l LEFT JOIN audit_link a
     ON a.chain = l.id GROUP BY l.id HAVING l.audit_n <> count(a.n) OR l.audit_n <> coalesce(max(a.n), 0)`,
  'a chain is numbered in another order than it was written': `SELECT chain, n, seq FROM (SELECT chain, n, seq, lag(seq) OVER (PARTITION BY chain ORDER BY n) AS before
     FROM audit_link) AS links WHERE before >= seq`,
} as const;

/** Compares the database, and what every server says of it, with everything that was answered. */
export async function inspectFleet(fleet: Fleet, book: FleetBook): Promise<void> {
  const { violations } = book;
  await waitForNumbers(fleet).catch((error: Error) => violations.push(error.message));
  for (const [what, statement] of Object.entries(SOUND)) {
    for (const row of await fleet.query(statement)) violations.push(`${what}: ${JSON.stringify(row)}`);
  }
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
  const { countedWithKey, counted, countedPerhaps, violations } = book;
  const rows = await fleet.query(
    'SELECT feature, sum(total)::int AS total FROM consumption_total GROUP BY 1',
  );
  const totalOf = (code: string) => (rows.find(({ feature }) => feature === code)?.total as number) ?? 0;
  const added = events.filter(({ kind }) => kind === 'consumption_added');
  const recordedOf = (code: string) =>
    added
      .filter(({ feature }) => (feature ?? '') === code)
      .reduce((sum, event) => sum + (event.count as number), 0);
  const ranges = [
    { code: '', what: 'with keys', least: countedWithKey, most: countedWithKey },
    { code: 'export', what: 'without keys', least: counted, most: counted + countedPerhaps },
  ];
  for (const { code, what, least, most } of ranges) {
    const [total, recorded] = [totalOf(code), recordedOf(code)];
    if (total < least || total > most)
      violations.push(`counted ${what}: ${total}; by the answers ${least} to ${most}`);
    if (total !== recorded) violations.push(`counted ${what}: ${total}, and recorded ${recorded}`);
  }
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
