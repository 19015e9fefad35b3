import { excludeAllBorrow, includeAllBorrow, setBorrow } from './borrow-forms.ts';
import { type Draft, sayLines } from './draft.ts';
import { COMMON, groupForm, noRoom } from './forms.ts';
import { changed, type Keyword, lost, type Outcome, same, setting, unneeded } from './outcome.ts';
import { countedForm, everywhereForm, noNumber, readCount, targetForm, withProduct } from './targets.ts';
import { describeWho, type Known } from './who.ts';

/** Keywords of an ISV options file of RLM. */
export const RLM_KEYWORDS: Readonly<Record<string, Keyword>> = {
  ...COMMON,
  INTERNET_GROUP: { was: 'Named a group of addresses.', read: groupForm('INTERNET_GROUP') },
  PRIORITY: {
    was: 'Put certain people first in the queue for a product: the lowest number first.',
    read: countedForm(
      (draft, number, { product, who }) =>
        draft.prioritize(product, draft.groupOf(who), number)
          ? same(
              `The order for ${product} is the same. Here the highest level is first, so the numbers differ.`,
            )
          : noRoom(product, 'priorities'),
      (_, product) => `They wait for ${product} behind those who have a priority.`,
    ),
  },
  ROAM_MAX_DAYS: {
    was: 'Limited for how many days a license can be borrowed.',
    read: (draft, [number, ...words]) => {
      const days = readCount(number);
      return days === null ? noNumber(number) : setBorrow(draft, 'hours', days * 24, words);
    },
  },
  ROAM_MAX_COUNT: {
    was: 'Limited how many licenses can be borrowed at once.',
    read: (draft, [number, spec, ...rest]) => {
      const count = readCount(number);
      if (count === null) return noNumber(number);
      return withProduct(draft, spec, rest, (product) =>
        lost(
          `Berth has no such limit: with these rules, all slots of ${product} can be borrowed.`,
          `Write "borrow: { keep: N }" for ${product}: N is the number of its slots minus ${count}. ` +
            'Change it when that number changes.',
        ),
      );
    },
  },
  INCLUDEALL_ROAM: { was: 'Let only certain people borrow.', read: includeAllBorrow },
  EXCLUDEALL_ROAM: { was: 'Kept certain people from borrowing.', read: excludeAllBorrow },
  EXEMPT_MAX: {
    was: 'Freed certain people from the limits of a product.',
    read: targetForm(
      (draft, { product, who }) => exempt(draft, [product], who),
      () => 'Limits hold for them, too.',
    ),
  },
  EXEMPTALL_MAX: {
    was: 'Freed certain people from all limits.',
    read: everywhereForm(
      (draft, who) => () => exempt(draft, draft.products, who)(),
      () => 'Limits hold for them, too.',
    ),
  },
  EXPRESS: {
    was: 'Said whether a request may pass others that wait but cannot be served yet.',
    read: (_, [value = '']) =>
      value.toUpperCase() === 'OFF'
        ? changed('With "off" it joined the end. Berth always lets it pass; this cannot be turned off.')
        : same('Berth always lets it pass.'),
  },
  TIMEZONE: {
    was: 'Restricted use to computers in certain time zones.',
    read: () =>
      lost(
        'Berth does not know the time zone of a computer: with these rules, all are served.',
        'Use "allow" with a group of hosts or addresses.',
      ),
  },
  USER: {
    was: 'Let a client sign in with a name and a password.',
    isSecret: true,
    read: () =>
      lost(
        'The password is not taken over: with these rules, clients need not sign in.',
        'If clients must prove who they are, set "auth.clients" to "required".',
      ),
  },
  MINREMOVE: setting(
    'Said how soon after a license was taken an administrator could take it back.',
    'With Berth, an administrator can do that at any time.',
  ),
  ROTATE: setting('Began a new log file from time to time.', 'The audit log of Berth needs no new files.'),
  PURGE_REPORTLOG: setting(
    'Deleted old logs.',
    'Berth keeps its audit log; "berth audit thin" makes it smaller.',
  ),
  CLIENT_CACHE: setting(
    'Let computers keep a license that was given back, for some time.',
    'With Berth, a slot that is given back is free at once.',
  ),
  NO_OLD_RLMUTIL: setting(
    'Kept old tools of RLM from stopping the server.',
    'Berth does not know these tools.',
  ),
};

function exempt(draft: Draft, products: readonly string[], who: Known): () => Outcome {
  return () => {
    const limits = products.flatMap((product) => draft.product(product).limit);
    if (limits.length === 0) return unneeded('There is no such limit in the rules.');
    const lines = [...new Set(limits.flatMap((limit) => draft.linesOf(limit)))];
    const name = describeWho(who);
    return lost(
      `Limits have no exceptions: ${name} is now bound by ${sayLines(lines)}, too.`,
      `To free ${name}, make a group of the others and name it in the limit.`,
    );
  };
}
