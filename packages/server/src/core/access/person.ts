import { escapeUnprintable, findHidden } from '@berth/protocol/hidden-characters';

/** What people of a provider or a directory are called here. No account has a ":" in its name. */
export function nameOfPerson(from: 'oidc' | 'ldap', name: string): string {
  return `${from}:${name}`;
}

/** Whether it is the name of somebody who has no account, and so no password, here. */
export function isPerson(account: string): boolean {
  return account.includes(':');
}

/** A name as directories compare names: many ways to write it find the same person. */
export function foldName(name: string): string {
  return name.normalize('NFKC').trim().replace(/\s+/g, ' ').toLowerCase();
}

/** No id of an OpenID provider is longer. */
const MAX_LENGTH = 255;

/** Names are read in the audit log, where they must not hide or imitate anything. */
export function isReadableName(name: string): boolean {
  const isShown = name.trim() === name && !/\p{Cc}/u.test(name) && name.isWellFormed();
  return name !== '' && name.length <= MAX_LENGTH && isShown && findHidden(name) === null;
}

/** The id of a person as it is recorded, whatever was sent as one. */
export function recordedId(subject: string): string {
  return escapeUnprintable(subject).slice(0, MAX_LENGTH);
}
