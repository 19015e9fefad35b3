import { RequestError } from '@berth/protocol/request-error';

interface TurnLimits {
  readonly inAll: number;
  readonly perPlace: number;
}

/** Does the work, or throws if too much of it is running. */
type TakeTurn = <T>(place: string, work: () => Promise<T>) => Promise<T>;

/** Limits requests that hold memory while slow clients send. One client network cannot use up all turns. */
export function createTurns({ inAll, perPlace }: TurnLimits): TakeTurn {
  const underWay = new Map<string, number>();
  let sum = 0;
  return async (place, work) => {
    const count = underWay.get(place) ?? 0;
    if (count >= perPlace) throw tooMany('Too many concurrent forms from your address.');
    if (sum >= inAll) throw tooMany('The portal is busy.');
    underWay.set(place, count + 1);
    sum += 1;
    try {
      return await work();
    } finally {
      sum -= 1;
      const left = (underWay.get(place) ?? 1) - 1;
      if (left === 0) underWay.delete(place);
      else underWay.set(place, left);
    }
  };
}

function tooMany(why: string): RequestError {
  return new RequestError('too_many_requests', `${why} Try again in a moment.`);
}
