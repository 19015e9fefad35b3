/** A command that takes a slot, for any shell. */
export function registerCommand(product: string | null, origin = location.origin): string {
  const body = JSON.stringify({ ...(product === null ? {} : { product }), user: 'ada' });
  const quoted = body.replaceAll("'", "'\\''");
  return `curl ${origin}/api/v4/register -H 'Content-Type: application/json' -d '${quoted}'`;
}
