import { findHidden } from '@berth/protocol/hidden-characters';

/**
 * Who a user is: the text of `user` in Unicode NFC without outer blanks. Case matters, because some
 * applications send ids in which it does, unless the store was told to ignore it (`users.ignoreCase`). Then a
 * user's slots, denials and events stand under the folded name, and a slot remembers besides how the name was
 * spelled when it was lent.
 */
export function userNameOf(text: string): string {
  return text.normalize('NFC').trim();
}

/** Why nobody gets anything under this name, as the rest of a sentence about it; `null`: it is fine. */
export function explainUnfit(name: string): string | null {
  const hidden = findHidden(name);
  return hidden === null ? null : `must not contain the invisible character ${hidden}`;
}

/** Names that differ only in case become the same. */
export function foldCase(name: string): string {
  // Upper case brings letters together that lower case leaves apart, but knows no upper case of a capital
  // sharp s. A sigma has two lower cases.
  return name.toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ').normalize('NFC');
}

/** The command with its user as the store knows them. */
export function withIdentity<C extends object>(command: C, ignoresCase: boolean): C {
  if (!ignoresCase || !('user' in command) || typeof command.user !== 'string') return command;
  const user = foldCase(command.user);
  return user === command.user ? command : { ...command, user, spelling: command.user };
}
