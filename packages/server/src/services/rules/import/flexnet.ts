import { excludeBorrow, includeBorrow, setBorrow } from './borrow-forms.ts';
import { COMMON, groupForm } from './forms.ts';
import { changed, type Form, type Keyword, lost, same, setting, unneeded } from './outcome.ts';
import { noNumber, readCount } from './targets.ts';

const ACTIVATION = setting(
  'Was about activating licenses on a computer for good.',
  'Berth does not do that. Nobody is let in or kept out by it here.',
);

/** Keywords of a FlexNet options file. */
export const FLEXNET_KEYWORDS: Readonly<Record<string, Keyword>> = {
  ...COMMON,
  USER_GROUP: { was: 'Named a group of users.', read: groupForm('GROUP') },
  GROUPCASEINSENSITIVE: {
    was: 'Said whether case matters in the names of users in groups.',
    read: (_, [value = '']) => {
      const now = 'Case does not matter in names of users and hosts';
      return value.toUpperCase() === 'ON'
        ? same(`${now}.`)
        : changed(`${now}: "Ada" and "ada" are the same user.`);
    },
  },
  INCLUDE_BORROW: { was: 'Let only certain people borrow a product.', read: includeBorrow },
  EXCLUDE_BORROW: { was: 'Kept certain people from borrowing a product.', read: excludeBorrow },
  MAX_BORROW_HOURS: { was: 'Limited how long a license can be borrowed.', read: borrowForm('hours') },
  BORROW_LOWWATER: { was: 'Kept some licenses from being borrowed.', read: borrowForm('keep') },
  FQDN_MATCHING: {
    was: 'Said whether host names match with and without their domain.',
    read: (draft) => () =>
      draft.hasHosts
        ? lost(
            'Berth compares the whole name that a client sends.',
            'Where clients may send a domain, list hosts in both forms: [ws1, "ws1.*"].',
          )
        : unneeded('The rules have no host names.'),
  },
  LINGER: setting(
    'Kept a license taken for some time after its program had ended.',
    'Berth has no such setting: the slot is free as soon as the program gives it back.',
  ),
  MAX_OVERDRAFT: setting(
    'Limited how many licenses could be used beyond those that were bought.',
    'Berth never lends more slots than a license has.',
  ),
  MAX_CONNECTIONS: setting(
    'Limited the connections to the old server.',
    'Berth has a limit of its own, the setting "http.maxConnections".',
  ),
  AUTOMATIC_REREAD: setting(
    'Said whether the old server read its licenses again every night.',
    'Berth notices changed licenses by itself.',
  ),
  DAEMON_SELECT_TIMEOUT: setting('Tuned the old server.', 'Berth needs no such setting.'),
  AUTO_ROLLOVER: setting(
    'Began a new log file from time to time.',
    'The audit log of Berth needs no new files.',
  ),
  ACTIVATION_LOWWATER: ACTIVATION,
  ACTIVATION_EXPIRY_DAYS: ACTIVATION,
  INCLUDE_ENTITLEMENT: ACTIVATION,
  EXCLUDE_ENTITLEMENT: ACTIVATION,
  INCLUDEALL_ENTITLEMENT: ACTIVATION,
  EXCLUDEALL_ENTITLEMENT: ACTIVATION,
};

/** `KEYWORD feature number` */
function borrowForm(field: 'hours' | 'keep'): Form {
  return (draft, [spec = '', number, ...rest]) => {
    const value = readCount(number);
    return value === null ? noNumber(number) : setBorrow(draft, field, value, [spec, ...rest]);
  };
}
