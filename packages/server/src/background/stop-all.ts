type Stop = () => Promise<unknown>;

/**
 * Stops everything: what runs at once, then what has to come after it, in its order. Nothing is left out
 * because something else has failed; the first failure is thrown in the end.
 */
export async function stopAll(running: readonly Stop[], afterwards: readonly Stop[]): Promise<void> {
  const results = await Promise.allSettled(running.map((stop) => stop()));
  for (const stop of afterwards) results.push(...(await Promise.allSettled([stop()])));
  const failure = results.find(({ status }) => status === 'rejected');
  if (failure !== undefined) throw (failure as PromiseRejectedResult).reason;
}
