/**
 * In order; a migration's number is its place in this list. Released ones never change; new ones go to the
 * end. Every store has a file of each name, so a number means the same in all of them.
 */
export const MIGRATIONS = [
  '0001-lending.sql',
  '0002-consumption.sql',
  '0003-cloud.sql',
  '0004-files.sql',
  '0005-accounts.sql',
  '0006-audit.sql',
  '0007-rules.sql',
  '0008-notices.sql',
  '0009-origins.sql',
  '0010-user-names.sql',
  '0011-sign-in.sql',
  '0012-ended-borrows.sql',
  '0013-token-use.sql',
  '0014-bars.sql',
  '0015-history.sql',
  '0016-due-slots.sql',
  '0017-origins-by-time.sql',
  '0018-renewals.sql',
] as const;

/** From this one on, stored users have the names that `core/nouns/user-name.ts` gives them. */
export const NAMES_USERS: (typeof MIGRATIONS)[number] = '0010-user-names.sql';

export const SCHEMA_VERSION = MIGRATIONS.length;
