/** The start of all names for a product. No product makes the start of another one's names. */
export function nameOf(kind: 'borrow' | 'count', product: string): string {
  const encoded = encodeURIComponent(product).replaceAll(
    /[!~*'()]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16)}`,
  );
  return `${kind}@${encoded}@`;
}
