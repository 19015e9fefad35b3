import { suggest } from '@berth/protocol/suggest';
import type { Draft, GroupKind } from './draft.ts';
import { type Form, lost, type Outcome, type Pending, remark, settle } from './outcome.ts';
import { type Known, type Listed, readHost, readInternet, readUser, type Unclear } from './who.ts';

/** A product, and whom a line is about. */
interface Target {
  readonly product: string;
  readonly who: Known;
}

/** Says what it means that a line cannot be taken; maybe only when the whole file has been read. */
type Missed<Of> = (draft: Draft, of: Of) => string | (() => string);

/** `KEYWORD product type name` */
export function targetForm(take: (draft: Draft, target: Target) => Pending, missed: Missed<string>): Form {
  return (draft, [spec, type, name, ...rest]) =>
    withProduct(draft, spec, rest, (product) => {
      const who = readWho(draft, type, name);
      return 'problem' in who ? miss(who, missed(draft, product)) : take(draft, { product, who });
    });
}

/** `KEYWORD number product type name` */
export function countedForm(
  take: (draft: Draft, count: number, target: Target) => Pending,
  missed: Missed<string>,
): Form {
  return (draft, [number, ...words]) => {
    const count = readCount(number);
    if (count === null) return noNumber(number);
    return targetForm((_, target) => take(draft, count, target), missed)(draft, words);
  };
}

/** `KEYWORD type name`, for all products. */
export function everywhereForm(take: (draft: Draft, who: Known) => Pending, missed: Missed<null>): Form {
  return (draft, [type, name, ...rest]) => {
    const who = readWho(draft, type, name);
    const pending = 'problem' in who ? miss(who, missed(draft, null)) : take(draft, who);
    return () => sayRest(settle(pending), '', '', rest.join(' '));
  };
}

function miss({ problem, advice }: Unclear, missed: string | (() => string)): Pending {
  return () => lost(`${problem} ${typeof missed === 'string' ? missed : missed()}`, advice);
}

export function readCount(word: string | undefined): number | null {
  return /^\d{1,6}$/.test(word ?? '') ? Number(word) : null;
}

export function noNumber(word: string | undefined): Outcome {
  if (word === undefined) return lost(UNFINISHED.problem, UNFINISHED.advice);
  return lost(
    `"${word}" should be a number of 1 or more. The old server probably ignored it, and so does Berth.`,
    UNFINISHED.advice,
  );
}

const UNFINISHED: Unclear = {
  problem: 'It is unfinished. The old server probably ignored it, and so does Berth.',
  advice: 'If it is still needed, write the rule by hand.',
};

/** `feature:VERSION=2.0`, `"feature VERSION=2.0"` and `id=7` choose among licenses, which rules do not. */
const QUALIFIER = /[: ]\w+=/;

/** `rest`: the words after the form. */
export function withProduct(
  draft: Draft,
  spec = '',
  rest: readonly string[],
  take: (product: string) => Pending,
): Pending {
  const end = QUALIFIER.exec(spec)?.index ?? spec.length;
  const name = spec.slice(0, end);
  if (name === '') return lost(UNFINISHED.problem, UNFINISHED.advice);
  if (name === '*')
    return lost(
      'A rule cannot name all products at once, so nothing was made of it.',
      'Write the rule for each product.',
    );
  const product = draft.addProduct(name);
  const pending = take(product);
  const isQualifier = (word: string) => /^\w+=/.test(word);
  const chosen = [spec.slice(end + 1), ...rest.filter(isQualifier)].join(' ').trim();
  const surplus = rest.filter((word) => !isQualifier(word)).join(' ');
  return () => sayRest(settle(pending), product, chosen, surplus);
}

function sayRest(outcome: Outcome, product: string, chosen: string, surplus: string): Outcome {
  if (outcome.verdict !== 'same' && outcome.verdict !== 'changed') return outcome;
  const only =
    ` The old line was only for licenses with ${chosen}. Berth cannot tell these apart: ` +
    `now it applies to every license of ${product}.`;
  const whole =
    chosen === '' ? outcome : remark(outcome, only, 'Check it: it may refuse more people than before.');
  if (surplus === '') return whole;
  return remark(
    whole,
    ` "${surplus}" at the end was not understood.`,
    `If "${surplus}" is meant, too, add it by hand.`,
  );
}

export const MEMBER_OF: Readonly<Record<GroupKind, (name: string) => Listed | Unclear>> = {
  GROUP: readUser,
  HOST_GROUP: readHost,
  INTERNET_GROUP: readInternet,
};

function readWho(draft: Draft, type = '', name = ''): Known | Unclear {
  const kind = type.toUpperCase();
  if (name === '')
    return {
      problem:
        'It is unfinished: it should end in something like USER ada. The old server probably ignored it.',
      advice: UNFINISHED.advice,
    };
  if (Object.hasOwn(MEMBER_OF, kind) || kind === 'USER_GROUP')
    return readGroup(draft, (kind === 'USER_GROUP' ? 'GROUP' : kind) as GroupKind, name);
  if (kind === 'USER') return readUser(name === 'ALL_USERS' ? '*' : name);
  if (kind === 'HOST') return readHost(name === 'ALL_HOSTS' ? '*' : name);
  if (kind === 'INTERNET') return readInternet(name);
  const advice = `Name users, hosts or addresses in place of "${name}".`;
  if (kind === 'DISPLAY' || kind === 'PROJECT')
    return { problem: `Berth does not know the ${kind.toLowerCase()} of a request ("${name}").`, advice };
  return { problem: `"${type}" is no type of a name.`, advice };
}

function readGroup(draft: Draft, kind: GroupKind, name: string): Known | Unclear {
  const group = draft.findGroup(kind, name);
  if (group !== null) return { group };
  const similar = suggest(name, draft.listGroups(kind));
  return {
    problem: `The file does not define ${kind} "${name}".`,
    advice: `Define "${name}" in "groups", and write the rule by hand.${similar}`,
  };
}
