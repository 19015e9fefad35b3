/**
 * In order; a migration's number is its place in this list. Never changed once released, only added to. Every
 * store has a file of each of these names, and its data is as far as the number says, whichever store it is
 * in.
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
] as const;

/** From this one on, stored users have the names that `core/nouns/user-name.ts` gives them. */
export const NAMES_USERS: (typeof MIGRATIONS)[number] = '0010-user-names.sql';

export const SCHEMA_VERSION = MIGRATIONS.length;
