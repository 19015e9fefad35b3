import { CloudFault } from '../../cloud/cloud.ts';

/**
 * Asks the cloud about one thing after the other. What is the matter with one does not hold up the others: it
 * is thrown when all had their turn. Only where there is no way to the cloud at all, nobody else is tried.
 */
export async function goThrough<T>(
  things: readonly T[],
  work: (thing: T) => Promise<unknown>,
): Promise<void> {
  let first: CloudFault | null = null;
  for (const thing of things) {
    try {
      await work(thing);
    } catch (error) {
      if (!(error instanceof CloudFault) || !error.mayHaveArrived) throw error;
      first ??= error;
    }
  }
  if (first !== null) throw first;
}
