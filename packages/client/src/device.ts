import type { Account } from './lending/account.ts';
import { toBase64Url } from './proof/signed-text.ts';
import { hmacSha256 } from './sha256.ts';

type Place = Pick<Account, 'environment' | 'storage'>;

/** The stored name of an identifier that this package has made up. */
const NAME = 'device';

/**
 * Stands for this computer, and is another one for every product. What identifies the computer cannot be
 * found out from it. `given`: what the application says that the computer is.
 */
export async function findMark(place: Place, product: string, given: string | null): Promise<string> {
  const identifier = given ?? (await place.environment.findDevice()) ?? (await keepIdentifier(place));
  return markOf(product, identifier);
}

export function markOf(product: string, identifier: string): string {
  const encode = (text: string) => new TextEncoder().encode(text);
  const mark = hmacSha256(encode(`berth device mark\n${product}`), encode(identifier.trim().toLowerCase()));
  return toBase64Url(btoa(String.fromCharCode(...mark)));
}

/** Makes up an identifier that lasts as long as the storage, and is copied with it. */
async function keepIdentifier({ storage, environment }: Place): Promise<string> {
  const known = await storage.read(NAME);
  if (known !== null && known !== '') return known;
  const made = environment.createId();
  await storage.write(NAME, made);
  // Another program may have made one, too.
  return (await storage.read(NAME)) ?? made;
}
