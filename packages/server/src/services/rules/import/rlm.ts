import { MAX_HOURS } from '../read-products.ts';
import {
  countedForm,
  differs,
  dropped,
  everywhereForm,
  exclude,
  excludeAll,
  type Form,
  groupForm,
  include,
  includeAll,
  max,
  readCount,
  reserve,
  taken,
  withoutEquivalent,
  withProduct,
} from './forms.ts';

/** The level of a priority of 0: with RLM, lower numbers go first, and nobody without a number. */
const TOP_LEVEL = 1000;

/** Keywords of an ISV options file of RLM, and what becomes of their lines. */
export const RLM_FORMS: Readonly<Record<string, Form>> = {
  GROUP: groupForm('GROUP'),
  HOST_GROUP: groupForm('HOST_GROUP'),
  INTERNET_GROUP: groupForm('INTERNET_GROUP'),
  INCLUDE: include,
  INCLUDEALL: includeAll,
  EXCLUDE: exclude,
  EXCLUDEALL: excludeAll,
  RESERVE: reserve,
  MAX: max,
  PRIORITY: countedForm((draft, number, { product, who }) => {
    const group = draft.groupOf(who);
    const level = Math.max(1, TOP_LEVEL - number);
    draft.product(product).priority.push({ for: group, level });
    return differs(`priority ${level} for ${group}: here the highest number goes first.`);
  }),
  ROAM_MAX_DAYS: (draft, { words: [, number, spec = '', ...rest] }) => {
    const days = readCount(number);
    if (days === null || days === 0) return dropped('The number is missing.');
    const hours = Math.min(days * 24, MAX_HOURS);
    return withProduct(spec, rest, (product) => {
      draft.product(product).borrow.hours = hours;
      return taken(`borrow: hours ${hours}.`);
    });
  },
  ROAM_MAX_COUNT: (_, { words: [, number = '', spec = ''] }) =>
    dropped(`Write "borrow: { keep: … }" for ${spec}: the number of its slots minus ${number}.`),
  INCLUDEALL_ROAM: everywhereForm((draft, who) => {
    const group = draft.groupOf(who);
    const { products } = draft;
    for (const product of products) draft.allowBorrow(product, group);
    return products.length === 0
      ? dropped(`Everybody may borrow. Write "borrow: { allow: [${group}] }" for each product.`)
      : differs(`borrow: allow ${group}, for ${products.join(', ')}. Write the same for other products.`);
  }),
  EXCLUDEALL_ROAM: () =>
    dropped('List the groups that may borrow in "borrow: { allow: […] }" of each product.'),
  ...withoutEquivalent(
    ['EXEMPT_MAX', 'EXEMPTALL_MAX'],
    'A limit has no exceptions. Give it a group without those who are exempt.',
  ),
  ...withoutEquivalent(
    ['TIMEOUT', 'TIMEOUTALL'],
    "A slot runs for the license's own timeout after the last heartbeat. Ask the vendor to change it.",
  ),
  ...withoutEquivalent(
    ['DEBUGLOG', 'REPORTLOG', 'NOLOG', 'ROTATE', 'PURGE_REPORTLOG'],
    'The audit log records every slot: see "berth audit export".',
  ),
  TIMEZONE: () => dropped('Use "times" with a zone, and "during" in the rules that are to follow it.'),
  EXPRESS: () => dropped('The waiting line passes over those who may not have the free slot.'),
  ...withoutEquivalent(['CLIENT_CACHE', 'NO_OLD_RLMUTIL'], 'It has no equivalent, and needs none.'),
};
