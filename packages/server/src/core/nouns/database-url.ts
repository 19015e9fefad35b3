/**
 * postgres://USER:PASSWORD@HOST:PORT/DATABASE?OPTIONS. Nothing but what stands before the host may hold an @:
 * a password with a / or a @ that is not written as %2F or %40 would be taken for the name of a host, and be
 * shown.
 */
const DATABASE_URL = /^(postgres(?:ql)?:\/\/)([^@/?#]*@)?([^@/?#]*(?:\/[^@/?#]*)?)(?:\?[^@#]*)?$/;

export function isDatabaseUrl(text: string): boolean {
  return DATABASE_URL.test(text);
}

/** Which database it is. The user and the password are left out, and the options, which may hold them too. */
export function showDatabaseUrl(text: string): string {
  const [, scheme, user, place] = DATABASE_URL.exec(text) ?? [];
  return scheme === undefined ? '…' : `${scheme}${user === undefined ? '' : '…@'}${place}`;
}

/** Whether it holds a password; a user alone, or a file that has the password, is no secret. */
export function hasDatabasePassword(text: string): boolean {
  const [, , user = ''] = DATABASE_URL.exec(text) ?? [];
  return /:./.test(user.slice(0, -1)) || /[?&]password=./.test(text);
}
