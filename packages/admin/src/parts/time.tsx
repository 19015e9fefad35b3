import { readNow } from '../clock.ts';
import {
  formatClock,
  formatDay,
  formatDistance,
  formatMoment,
  formatSeconds,
  formatUtc,
  isSameDay,
} from '../words/time.ts';

interface TimeProps {
  readonly at: string | number | null;
  /** `day`: without the time of the day. */
  readonly as?: 'moment' | 'day' | 'distance' | 'clock';
  readonly none?: string;
}

const FORMATS = {
  moment: formatMoment,
  day: formatDay,
  distance: formatDistance,
  clock: formatClock,
} as const;

/** A time in the zone of the reader, with UTC when it is pointed at. */
export function Time({ at, as = 'moment', none = '–' }: TimeProps) {
  if (at === null) return <span class="quiet">{none}</span>;
  const millis = typeof at === 'number' ? at : Date.parse(at);
  return (
    <time dateTime={new Date(millis).toISOString()} title={formatUtc(millis)}>
      {FORMATS[as](millis, readNow())}
    </time>
  );
}

/** The day in the second colour and the clock in the first, so that a column of them reads well. */
export function Moment({ at, isExact = false }: { readonly at: string; readonly isExact?: boolean }) {
  const millis = Date.parse(at);
  const now = readNow();
  return (
    <time dateTime={at} title={formatUtc(millis)}>
      {!isSameDay(millis, now) && <span class="second">{formatDay(millis, now)}, </span>}
      {isExact ? formatSeconds(millis) : formatClock(millis)}
    </time>
  );
}

/** When something ends, and how far away that is. */
export function Ending({ at }: { readonly at: string }) {
  return (
    <>
      <Moment at={at} /> <span class="quiet">{formatDistance(Date.parse(at), readNow())}</span>
    </>
  );
}
