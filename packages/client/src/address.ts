import { BerthError } from './errors.ts';
import { fingerprint } from './sha256.ts';

/** The address of a server as it is used, without the path of the API. */
export function readAddress(text: unknown): string {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : null;
  if (url !== null && (url.username !== '' || url.password !== '')) {
    const advice = 'Write it like http://host:8080, and give a "token" if the server requires one.';
    throw new BerthError('invalid_option', 'The address has a user or a password in it.', advice);
  }
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '') {
    // An invalid address may have a password in it, too.
    const shown = /^[\w.:/[\]-]*$/.test(String(text)) ? `"${text}"` : 'The "server"';
    throw new BerthError('invalid_option', `${shown} is not an address.`, 'Write it like http://host:8080.');
  }
  return `${url.origin}${url.pathname}`.replace(/\/$/, '').replace(/\/api\/v4$/, '');
}

/** What stands for servers that have no public id: all addresses that the application has for them. */
export function describeAddresses(addresses: readonly string[]): string {
  return `${ADDRESSES}${fingerprint([...new Set(addresses)].sort().join('\n'))}`;
}

/** Whether something is bound to addresses, and not to the public id of a store. */
export function isOfAddresses(binding: string): boolean {
  return binding.startsWith(ADDRESSES);
}

const ADDRESSES = 'addresses-';
