type Stop = () => Promise<unknown>;

/**
 * Stops everything: first what can stop together, then the rest in order. A failure does not prevent the
 * other stops; the first failure is thrown at the end.
 */
export async function stopAll(running: readonly Stop[], afterwards: readonly Stop[]): Promise<void> {
  const results = await Promise.allSettled(running.map((stop) => stop()));
  for (const stop of afterwards) results.push(...(await Promise.allSettled([stop()])));
  const failure = results.find(({ status }) => status === 'rejected');
  if (failure !== undefined) throw (failure as PromiseRejectedResult).reason;
}
