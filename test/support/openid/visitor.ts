/** A browser at a provider: it follows redirects and keeps cookies. */
export class Visitor {
  readonly #cookies = new Map<string, string>();

  /** Goes to an address, chooses who it is when asked, and returns the query with which it comes back. */
  async signIn(url: string, who: string, page: string): Promise<string> {
    let address = url;
    for (let steps = 0; steps < 10; steps++) {
      if (address.startsWith(page)) return new URL(address).search.slice(1);
      address = await this.#go(address, who);
    }
    throw new Error(`It never came back from ${url}.`);
  }

  async #go(address: string, who: string): Promise<string> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(address, { redirect: 'manual', headers: { cookie } });
    for (const set of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (set.split(';')[0] as string).split('=');
      this.#cookies.set(name, value);
    }
    const next = response.headers.get('location');
    if (next !== null) return new URL(next, address).href;
    const choice = new RegExp(`href="([^"]+/${who})"`).exec(await response.text())?.[1];
    if (choice === undefined) throw new Error(`${address} answers with ${response.status}.`);
    return new URL(choice, address).href;
  }
}
