import { CloudFault } from '../../cloud/cloud.ts';

/**
 * Runs requests to the cloud one after the other. A failure does not stop the others and is thrown at the
 * end, unless the cloud cannot be reached at all.
 */
export async function runSequentially<T>(
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
