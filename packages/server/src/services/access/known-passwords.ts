import { formsOf } from '../../core/access/guessable-password.ts';

let list: Promise<ReadonlySet<string>> | undefined;

/** Read when somebody first sets a password: it has fifty thousand lines. */
async function readList(): Promise<ReadonlySet<string>> {
  const { default: passwords } = await import('@zxcvbn-ts/language-common/src/passwords.json', {
    with: { type: 'json' },
  });
  return new Set(passwords);
}

/** Whether a password was stolen so often that guessers try it first. */
export async function isKnownPassword(password: string): Promise<boolean> {
  list ??= readList();
  const known = await list;
  return formsOf(password).some((form) => known.has(form));
}
