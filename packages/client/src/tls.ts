import type { Environment, Tls } from './environment.ts';
import { BerthError } from './errors.ts';

export interface TlsOptions {
  /** The certificate of the authority to trust instead of those of the system. PEM, or the name of a file. */
  readonly ca?: string | undefined;
  /** The certificate of this program, for servers that ask for one. PEM, or the name of a file. */
  readonly cert?: string | undefined;
  /** The private key of `cert`. PEM, or the name of a file. */
  readonly key?: string | undefined;
}

/** Returns null if the application gives no certificates. */
export function readTls(
  environment: Environment,
  { ca, cert, key }: TlsOptions,
  addresses: readonly string[],
): Tls | null {
  const given = Object.entries({ ca, cert, key }).filter(([, value]) => value !== undefined);
  if (given.length === 0) return null;
  const names = given.map(([name]) => `"${name}"`).join(' and ');
  for (const [name, value] of given) {
    if (typeof value === 'string' && value.trim() !== '') continue;
    throw refuse(`"${name}" is empty, or not a text.`, 'Give PEM, or the name of a file.');
  }
  if ((cert === undefined) !== (key === undefined)) {
    throw refuse(`There is ${names}, but not the other half.`, 'Give both "cert" and "key", or neither.');
  }
  const plain = addresses.find((address) => !address.startsWith('https:'));
  if (plain !== undefined) {
    throw refuse(`${names} cannot be used without TLS.`, `Write the address ${plain} with https://.`);
  }
  const tls: Tls = Object.fromEntries(given);
  environment.checkTls(tls);
  return tls;
}

function refuse(message: string, advice: string): BerthError {
  return new BerthError('invalid_option', message, advice);
}
