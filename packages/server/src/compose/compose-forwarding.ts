import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { explainFileError } from '@berth/shell/files/explain-file-error';
import { ConfigError } from '../config.ts';
import { SECOND_MS } from '../core/nouns/instant.ts';
import { presentSent } from '../http/reply/present-event.ts';
import type { EventReceiver } from '../receivers/event-receiver.ts';
import { createEventsFile } from '../receivers/events-file.ts';
import { createSyslog } from '../receivers/syslog.ts';
import { Deliveries, type DeliveryOptions } from '../services/events/deliveries.ts';
import type { CurrentSettings } from '../services/settings/live-settings.ts';

const TIMEOUT_MS = 10 * SECOND_MS;

interface ForwardingOptions extends Pick<DeliveryOptions, 'store' | 'log' | 'readMonotonicMs'> {
  readonly settings: CurrentSettings;
  readonly signal: AbortSignal;
}

export interface Forwarding {
  readonly syslog: Deliveries;
  readonly eventsFile: Deliveries;
}

/** Those that are told every event, however long they are away. */
export function composeForwarding({ settings, signal, ...parts }: ForwardingOptions): Forwarding {
  const open = { syslog: openSyslog(settings, signal), eventsFile: openEventsFile(settings) };
  const follow = (options: Pick<DeliveryOptions, 'follower' | 'called'>, find: () => EventReceiver | null) =>
    new Deliveries({
      ...parts,
      ...options,
      giveUpMs: null,
      findTarget: async () => {
        const receiver = find();
        return { isOn: receiver !== null, receiver, kinds: null, problem: null };
      },
    });
  return {
    syslog: follow({ follower: 'syslog', called: 'the syslog receiver' }, open.syslog),
    eventsFile: follow({ follower: 'file', called: 'the file for events' }, open.eventsFile),
  };
}

/** The receiver stays the same while its URL does. */
function openSyslog(settings: CurrentSettings, signal: AbortSignal): () => EventReceiver | null {
  const ca = readCertificates(settings.current.syslog.caFile);
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

function readCertificates(file: string): string | null {
  if (file === '') return null;
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError(`"syslog.caFile" cannot be read. ${explainFileError(file, error, 'read')}`);
  }
}

function openEventsFile({ current }: CurrentSettings): () => EventReceiver | null {
  const { path, megabytes, keep } = current.eventsFile;
  const options = { path, maxBytes: megabytes * 1024 * 1024, kept: keep, present: presentSent };
  const receiver = path === '' ? null : createEventsFile(options);
  return () => receiver;
}
