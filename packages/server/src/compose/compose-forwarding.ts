import { hostname } from 'node:os';
import type { Follower } from '../core/nouns/audit-position.ts';
import { SECOND_MS } from '../core/nouns/instant.ts';
import { presentSent } from '../http/reply/present-event.ts';
import type { EventReceiver } from '../receivers/event-receiver.ts';
import { createEventsFile } from '../receivers/events-file.ts';
import { createSyslog } from '../receivers/syslog.ts';
import { Deliveries, type DeliveryOptions } from '../services/events/deliveries.ts';
import type { CurrentSettings } from '../services/settings/live-settings.ts';
import { readCertificates } from './read-certificates.ts';

const TIMEOUT_MS = 10 * SECOND_MS;

interface ForwardingOptions extends Pick<DeliveryOptions, 'store' | 'log' | 'readMonotonicMs'> {
  readonly settings: CurrentSettings;
  readonly signal: AbortSignal;
  /** `false` for commands that open the data of a stopped server. */
  readonly isServing: boolean;
}

export interface Forwarding {
  readonly syslog: Deliveries;
  readonly eventsFile: Deliveries;
}

/** Those that are told every event, however long they are away. */
export function composeForwarding(options: ForwardingOptions): Forwarding {
  const { store, log, readMonotonicMs } = options;
  const follow = (follower: Follower, called: string, find: () => EventReceiver | null) =>
    new Deliveries({
      store,
      log,
      readMonotonicMs,
      follower,
      called,
      giveUpMs: null,
      findTarget: async () => {
        const receiver = find();
        return { isOn: receiver !== null, receiver, kinds: null, problem: null };
      },
    });
  return {
    syslog: follow('syslog', 'the syslog receiver', openSyslog(options)),
    eventsFile: follow('file', 'the file for events', openEventsFile(options)),
  };
}

/** The receiver stays the same while its URL does. */
function openSyslog({ settings, signal, isServing }: ForwardingOptions): () => EventReceiver | null {
  const ca = isServing ? readCertificates('syslog.caFile', settings.current.syslog.caFile) : null;
  let last: { readonly url: string; readonly receiver: EventReceiver } | null = null;
  return () => {
    const { url } = settings.current.syslog;
    if (url === '') return null;
    if (last?.url !== url) {
      const options = { url, ca, hostname: hostname(), timeoutMs: TIMEOUT_MS, signal, present: presentSent };
      last = { url, receiver: createSyslog(options) };
    }
    return last.receiver;
  };
}

function openEventsFile({ settings, signal }: ForwardingOptions): () => EventReceiver | null {
  const { path, megabytes, keep } = settings.current.eventsFile;
  const options = { path, maxBytes: megabytes * 1024 * 1024, kept: keep, signal, present: presentSent };
  const receiver = path === '' ? null : createEventsFile(options);
  return () => receiver;
}
