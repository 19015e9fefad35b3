import { type Draft, type GroupKind, sayLines } from './draft.ts';
import { changed, type Form, type Keyword, lost, type Outcome, same, setting, unneeded } from './outcome.ts';
import {
  countedForm,
  everywhereForm,
  MEMBER_OF,
  noNumber,
  readCount,
  targetForm,
  withProduct,
} from './targets.ts';
import { describeWho, type Known, type Listed, listSome } from './who.ts';

/** Defines a group: `GROUP name member …`. */
export function groupForm(kind: GroupKind): Form {
  return (draft, [name, ...members]) => {
    if (name === undefined)
      return lost('It names no group.', 'If it is still needed, write the group by hand.');
    const read = members.map((member) => ({ member, ...MEMBER_OF[kind](member) }));
    const listed = read.filter((one) => 'list' in one);
    const unclear = read.filter((one) => 'problem' in one);
    const known = draft.findGroup(kind, name);
    const own = draft.addGroup(kind, name, listed);
    const spelled =
      known === null ? `In the file it is called "${name}".` : 'Case is ignored, as in the old file.';
    const renamed = own === name ? '' : ` ${spelled}`;
    const entries = listSome(listed.map(({ entry }) => entry)) || 'nobody';
    const now = `${known === null ? 'Defines' : 'Adds to'} group "${own}": ${entries}.${renamed}`;
    if (unclear.length > 0) {
      const missing = unclear.map(({ member }) => `"${member}"`).join(', ');
      return changed(
        `${now} ${missing} cannot be read and is NOT in it.`,
        unclear.map(({ advice }) => advice).join(' '),
      );
    }
    if (listed.some(({ entry }) => entry === '*'))
      return changed(
        `${now} Here "*" is EVERYBODY.`,
        `Unless everybody is meant, remove "*" from group "${own}".`,
      );
    return renamed === '' || known !== null ? same(now) : changed(now);
  };
}

const reserve = countedForm(
  (draft, slots, { product, who }) => {
    if (slots === 0) return unneeded('It reserves nothing.');
    const rule = draft.reserve(product, slots, draft.groupOf(who));
    if (rule === null) return noRoom(product, 'reservations');
    const { line } = draft;
    return () => {
      const others = draft.linesOf(rule).filter((one) => one !== line);
      const sum = others.length === 0 ? '' : ` With ${sayLines(others)} that makes ${rule.slots}.`;
      const now = `Keeps ${countSlots(slots)} of ${product} for ${describeWho(who)}.${sum}`;
      const isOne = 'list' in who && who.list === 'users' && !who.entry.includes('*');
      if (!isOne || rule.slots === 1) return same(now);
      return changed(
        `${now} A user holds at most one slot of a license, so the rest would stay empty.`,
        `Lower these slots to the number of licenses of ${product}, usually 1.`,
      );
    };
  },
  (_, product) => `No slot of ${product} is kept for them.`,
);

export function countSlots(slots: number): string {
  return slots === 1 ? '1 slot' : `${slots} slots`;
}

export function noRoom(product: string, what: string): Outcome {
  return lost(
    `${product} has as many ${what} as it can have, so it was left out.`,
    'Join groups, and write one for all.',
  );
}

const maxOf = countedForm(
  (draft, slots, { product, who }) => {
    if ('list' in who && who.list === 'users') return limitUser(draft, slots, product, who);
    const together = 'group' in who ? ', all members together' : '';
    const now = `Limits ${describeWho(who)} to ${countSlots(slots)} of ${product}${together}.`;
    return draft.limit(product, { slots, for: draft.groupOf(who) }) ? same(now) : noRoom(product, 'limits');
  },
  (_, product) => `There is NO such limit for ${product}.`,
);

/** A user holds at most one slot of a license. */
function limitUser(draft: Draft, slots: number, product: string, who: Listed): Outcome {
  if (slots > 0) return unneeded('Not needed: a user holds at most one slot of a license.');
  draft.deny(product, who);
  return refused(draft, product, who);
}

/** Names that stand for each host or address by itself, or for each group of the file. */
const EACH = { HOST: 'host', INTERNET: 'address' } as const;

/** `MAX 1 product HOST ALL_HOSTS` is about each host by itself. */
const max: Form = (draft, words) => {
  const [number, spec, type = '', name = '', ...rest] = words;
  const slots = readCount(number);
  if (slots === null) return noNumber(number);
  const kind = type.toUpperCase();
  const isEach = (kind === 'HOST' || kind === 'INTERNET') && /^(\*(\.\*)*|ALL_HOSTS)$/i.test(name);
  const isEvery = kind === 'GROUP' && name.toUpperCase() === 'ALL_GROUPS';
  if (!isEach && !isEvery) return maxOf(draft, words);
  return withProduct(draft, spec, rest, (product) => {
    if (isEvery) return limitGroups(draft, slots, product);
    const place = EACH[kind as keyof typeof EACH];
    if (!draft.limit(product, { slots, each: place })) return noRoom(product, 'limits');
    const now = `Limits each ${place} to ${countSlots(slots)} of ${product}.`;
    if (!name.startsWith('*')) return same(now);
    return changed(
      `${now} "${name}" was read as each ${place} by itself.`,
      `Check it: is the limit meant for all of them together?`,
    );
  });
};

function limitGroups(draft: Draft, slots: number, product: string): Outcome {
  const isRoom = draft.listGroups('GROUP').map((group) => draft.limit(product, { slots, for: group }));
  if (isRoom.includes(false)) return noRoom(product, 'limits');
  return same(`Limits each group of users to ${countSlots(slots)} of ${product}.`);
}

/** A line that cannot be taken must not let everybody in. */
const include = targetForm(
  (draft, { product, who }) => {
    draft.allow(product, draft.groupOf(who));
    return same(`Lets ${describeWho(who)} use ${product}. Anyone not named in such a line is refused.`);
  },
  (draft, product) => {
    const allow = draft.restrict(product);
    return () =>
      allow.size === 0
        ? `Until you name a group in "allow" of ${product}, NOBODY can use it.`
        : `Only ${listSome([...allow])} can use ${product}.`;
  },
);

const exclude = targetForm(
  (draft, { product, who }) => {
    draft.deny(product, who);
    return refused(draft, product, who);
  },
  (_, product) => `Until you write a rule, ${product} is NOT refused to them.`,
);

const excludeAll = everywhereForm(
  (draft, who) => {
    draft.deny(null, who);
    return refused(draft, 'every product', who);
  },
  () => 'Until you write a rule, they are NOT refused.',
);

function refused(draft: Draft, product: string, who: Known): Outcome {
  const now = `Refuses ${product} to ${describeWho(who)}.`;
  if (!draft.isEverybody(who)) return same(now);
  return changed(`${now} Because of the "*", that is EVERYBODY.`, 'Check that everybody is meant.');
}

/** There is no `allow` for every product: it is repeated for those that the file names. */
const includeAll = everywhereForm((draft, who) => {
  const group = draft.groupOf(who);
  const { products } = draft;
  for (const product of products) draft.allow(product, group);
  const todo =
    `Add "allow: [${group}]" to every product that this file does not name. ` +
    'Until then, EVERYBODY can use them.';
  if (products.length === 0)
    return lost('Berth has no "allow" for all products, and the file names none.', todo);
  return changed(`Lets ${describeWho(who)} use ${listSome(products)}. Others are refused these.`, todo);
}, missAll);

function missAll(draft: Draft): string {
  for (const product of draft.products) draft.restrict(product);
  return 'NOBODY can use the products of this file unless other lines say so. EVERYBODY can use others.';
}

/** Keywords that both have. */
export const COMMON: Readonly<Record<string, Keyword>> = {
  GROUP: { was: 'Named a group of users.', read: groupForm('GROUP') },
  HOST_GROUP: { was: 'Named a group of computers.', read: groupForm('HOST_GROUP') },
  INCLUDE: { was: 'Let only certain people use a product.', read: include },
  INCLUDEALL: { was: 'Let only certain people use any product.', read: includeAll },
  EXCLUDE: { was: 'Refused a product to certain people.', read: exclude },
  EXCLUDEALL: { was: 'Refused all products to certain people.', read: excludeAll },
  RESERVE: { was: 'Kept licenses of a product for certain people.', read: reserve },
  MAX: { was: 'Limited how many licenses of a product certain people have at once.', read: max },
  TIMEOUT: setting(
    'Took a license back when its program had been idle for some time.',
    'Berth takes a slot back when its program stops reporting. The vendor sets that time in the license.',
  ),
  TIMEOUTALL: setting(
    'Took back all licenses whose programs had been idle for some time.',
    'Berth takes a slot back when its program stops reporting. The vendor sets that time in the license.',
  ),
  REPORTLOG: setting(
    'Wrote a log of use to a file.',
    'Berth always keeps an audit log: "berth audit export" writes it to a file.',
  ),
  DEBUGLOG: setting(
    'Wrote messages of the old server to a file.',
    'Berth writes messages to standard error.',
  ),
  NOLOG: setting('Left some events out of the log.', 'Berth always logs them.'),
};
