import { RequestError } from '@berth/protocol/request-error';

interface ConcurrencyLimits {
  readonly inTotal: number;
  readonly perAddress: number;
}

/** Does the work, or throws if too much of it is running. */
type LimitWork = <T>(address: string, work: () => Promise<T>) => Promise<T>;

/** Limits requests that hold memory while slow clients send. One client network cannot use up all turns. */
export function limitConcurrency({ inTotal, perAddress }: ConcurrencyLimits): LimitWork {
  const running = new Map<string, number>();
  let total = 0;
  return async (address, work) => {
    const count = running.get(address) ?? 0;
    if (count >= perAddress) throw tooMany('Too many concurrent forms from your address.');
    if (total >= inTotal) throw tooMany('The portal is busy.');
    running.set(address, count + 1);
    total += 1;
    try {
      return await work();
    } finally {
      total -= 1;
      const left = (running.get(address) ?? 1) - 1;
      if (left === 0) running.delete(address);
      else running.set(address, left);
    }
  };
}

function tooMany(why: string): RequestError {
  return new RequestError('too_many_requests', `${why} Try again in a moment.`);
}
