/** Who asked: one of Berth's own names, or a caller by name and address. */
export type Actor = string | Visitor;

export interface Visitor {
  readonly name: string;
  readonly address: string;
}

/** The address that a request came from; `null`: it did not come over the network. */
export function addressOf(by: Actor | undefined): string | null {
  return typeof by === 'object' && by.address !== '' ? by.address : null;
}

export function nameOf(by: Actor): string {
  return typeof by === 'object' ? by.name : by;
}
