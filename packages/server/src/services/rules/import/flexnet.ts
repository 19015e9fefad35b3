import { MAX_HOURS } from '../read-products.ts';
import {
  differs,
  dropped,
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
  targetForm,
  withoutEquivalent,
  withProduct,
} from './forms.ts';

/** Keywords of a FlexNet options file, and what becomes of their lines. */
export const FLEXNET_FORMS: Readonly<Record<string, Form>> = {
  GROUP: groupForm('GROUP'),
  USER_GROUP: groupForm('GROUP'),
  HOST_GROUP: groupForm('HOST_GROUP'),
  GROUPCASEINSENSITIVE: (_, { words: [, value = ''] }) =>
    value.toUpperCase() === 'ON'
      ? taken('Names are never case sensitive.')
      : differs('Names are not case sensitive: "Ada" and "ada" are the same user.'),
  INCLUDE: include,
  INCLUDEALL: includeAll,
  EXCLUDE: exclude,
  EXCLUDEALL: excludeAll,
  INCLUDE_BORROW: targetForm((draft, { product, who }) => {
    const group = draft.groupOf(who);
    draft.allowBorrow(product, group);
    return taken(`borrow: allow ${group}.`);
  }),
  EXCLUDE_BORROW: targetForm((_, { product }) =>
    dropped(`List the groups that may borrow ${product} in "borrow: { allow: […] }".`),
  ),
  RESERVE: reserve,
  MAX: (draft, line) => limitEach(draft, line) ?? max(draft, line),
  MAX_BORROW_HOURS: borrowForm('hours'),
  BORROW_LOWWATER: borrowForm('keep'),
  ...withoutEquivalent(
    ['LINGER', 'TIMEOUT', 'TIMEOUTALL'],
    "A slot runs for the license's own timeout after the last heartbeat. Ask the vendor to change it.",
  ),
  ...withoutEquivalent(
    ['REPORTLOG', 'DEBUGLOG', 'NOLOG'],
    'The audit log records every slot: see "berth audit export".',
  ),
  ...withoutEquivalent(
    ['MAX_OVERDRAFT', 'MAX_CONNECTIONS', 'DAEMON_SELECT_TIMEOUT', 'AUTOMATIC_REREAD', 'FQDN_MATCHING'],
    'It has no equivalent. Licenses and connections are set up on the server.',
  ),
  ...withoutEquivalent(
    [
      'ACTIVATION_LOWWATER',
      'ACTIVATION_EXPIRY_DAYS',
      'INCLUDE_ENTITLEMENT',
      'EXCLUDE_ENTITLEMENT',
      'INCLUDEALL_ENTITLEMENT',
      'EXCLUDEALL_ENTITLEMENT',
    ],
    'There is no trusted storage. Use "borrow" to say who may take a slot offline.',
  ),
};

/** `MAX 1 feature HOST ALL_HOSTS` is about each host by itself. */
const limitEach: (...args: Parameters<Form>) => ReturnType<Form> | null = (draft, line) => {
  const [, number, spec = '', type = '', name = ''] = line.words;
  const slots = readCount(number);
  if (slots === null || type.toUpperCase() !== 'HOST' || name.toUpperCase() !== 'ALL_HOSTS') return null;
  return withProduct(spec, [], (product) => {
    draft.product(product).limit.push({ slots, each: 'host' });
    return taken(`limit ${slots} for each host.`);
  });
};

/** `KEYWORD feature number`; the last line counts. */
function borrowForm(field: 'hours' | 'keep'): Form {
  return (draft, { words: [, spec = '', number] }) => {
    const value = readCount(number);
    if (value === null || (field === 'hours' && value === 0)) return dropped('The number is missing.');
    const most = field === 'hours' ? Math.min(value, MAX_HOURS) : value;
    return withProduct(spec, [], (product) => {
      draft.product(product).borrow[field] = most;
      return taken(`borrow: ${field} ${most}.`);
    });
  };
}
