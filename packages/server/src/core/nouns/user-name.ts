import { findHidden } from '@berth/protocol/hidden-characters';

/**
 * Identifies a user: the text of `user` in Unicode NFC without outer blanks. Case matters, because some
 * applications send ids in which it does, unless the store ignores it (`users.ignoreCase`). Then a user's
 * slots, denials and events are stored under the folded name, and a slot also remembers the spelling.
 */
export function userNameOf(text: string): string {
  return text.normalize('NFC').trim();
}

/** What is wrong with the name, as the rest of a sentence; `null`: nothing. */
export function explainUnfit(name: string): string | null {
  const hidden = findHidden(name);
  return hidden === null ? null : `must not contain the invisible character ${hidden}`;
}

/** Names that differ only in case become the same. */
export function foldCase(name: string): string {
  // Upper case unites letters that lower case keeps apart, but leaves a capital sharp s as it is. Sigma has
  // two lower cases.
  return name.toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ').normalize('NFC');
}

/** The command with the user's name as a store keeps it that ignores case. */
export function withFoldedUser<C extends object>(command: C): C {
  if (!('user' in command) || typeof command.user !== 'string') return command;
  const user = foldCase(command.user);
  return user === command.user ? command : { ...command, user, spelling: command.user };
}
