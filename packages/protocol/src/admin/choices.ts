/** What the API, the command line and the server choose from. Without zod, so that all can read it. */

/** What a list of slots can be sorted by. */
export const SLOT_ORDERS = ['user', 'host', 'address', 'license', 'state', 'since', 'until'] as const;
