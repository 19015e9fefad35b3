import { readNow } from '../clock.ts';
import { createValue } from './value.ts';

/** Whether the page follows the server's events. */
interface Connection {
  readonly state: 'connecting' | 'live' | 'lost';
  /** When something was last heard; what the page shows is from then. */
  readonly heardAt: number;
  /** When it tries again, if it is lost. */
  readonly retryAt: number | null;
}

export const connection = createValue<Connection>({ state: 'connecting', heardAt: readNow(), retryAt: null });
