/** Who asked: one of Berth's own names, or a caller by name with the address that they came from. */
export type Actor = string | Visitor;

export interface Visitor {
  readonly name: string;
  readonly address: string;
}
