import { findHidden } from '@berth/protocol/hidden-characters';

/** What people of a provider or a directory are called here. No account has a ":" in its name. */
export function nameOfPerson(from: 'oidc' | 'ldap', name: string): string {
  return `${from}:${name}`;
}

/** Whether it is the name of somebody who has no account, and so no password, here. */
export function isPerson(account: string): boolean {
  return account.includes(':');
}

const MAX_LENGTH = 200;

/** Names are read in the audit log, where they must not hide or imitate anything. */
export function isReadableName(name: string): boolean {
  const isShown = name.trim() === name && !/\p{Cc}/u.test(name) && name.isWellFormed();
  return name !== '' && name.length <= MAX_LENGTH && isShown && findHidden(name) === null;
}
