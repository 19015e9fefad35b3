import { TOPIC_NAMES } from './core/nouns/topics.ts';
import { type Bounded, isSyslogUrl } from './setting.ts';

const always = () => true;

/** What is reported, and to whom. */
export const EVENT_SETTINGS = [
  {
    path: 'notices.expiryDays',
    isLive: true,
    default: 14,
    from: 1,
    to: 365,
    about: 'A notice (audit log, webhook, channels) this many days before a license or token ends.',
  },
  {
    path: 'notices.cloudMinutes',
    isLive: true,
    default: 15,
    from: 1,
    to: 7 * 24 * 60,
    about: 'A notice after the licensing cloud was unreachable for this long.',
  },
  {
    path: 'notices.diskFreeMegabytes',
    isLive: true,
    default: 1024,
    from: 0,
    to: 1_000_000_000,
    about: 'A notice when the disk of the data folder has less free space; 0: never.',
  },
  {
    path: 'notices.certificateDays',
    default: 14,
    from: 0,
    to: 365,
    about: 'A notice, also in the log, this many days before the TLS certificate ends; 0: never.',
  },
  {
    path: 'notices.slotsPercent',
    isLive: true,
    default: 90,
    from: 0,
    to: 100,
    about: 'A notice when this much of the slots of a license or feature is in use; 0: never.',
  },
  {
    path: 'notices.consumptionPercent',
    isLive: true,
    default: 90,
    from: 0,
    to: 100,
    about: 'A notice when this much of the consumption of a license is used up; 0: never.',
  },
  {
    path: 'notify.privateAddresses',
    default: true,
    about:
      'Whether the webhook and channels may post to loopback addresses and private networks; never to ' +
      'link-local addresses.',
  },
  {
    path: 'webhooks.url',
    isLive: true,
    default: '',
    form: {
      called: 'a URL that begins with https:// or http://',
      isValid: (text) => /^https?:$/.test(URL.parse(text)?.protocol ?? ''),
    },
    // Many receivers of webhooks treat their URL as a secret.
    show: (url) => `${new URL(url).origin}/…`,
    about: 'URL to send events to; if empty, none are sent. It requires a secret.',
  },
  {
    path: 'webhooks.events',
    isLive: true,
    default: TOPIC_NAMES,
    oneOf: TOPIC_NAMES,
    about: 'Events to send to the webhook.',
  },
  {
    path: 'webhooks.secretFile',
    default: '',
    isPath: always,
    about:
      'File with the secret that signs events; BERTH_WEBHOOKS_SECRET is the secret itself. Without both, ' +
      'the server uses the one that it made itself ("berth webhook secret", or the page).',
  },
  {
    path: 'syslog.url',
    isLive: true,
    default: '',
    form: {
      called: 'a URL such as tls://siem.example:6514; tcp:// and udp:// are possible, too',
      isValid: isSyslogUrl,
    },
    about: 'Syslog receiver (RFC 5424) that gets every event of the audit log; if empty, none does.',
  },
  {
    path: 'syslog.caFile',
    default: '',
    isPath: always,
    about: 'File with certificates (PEM) that vouch for the syslog receiver, if it is none that Node knows.',
  },
  {
    path: 'mail.caFile',
    default: '',
    isPath: always,
    about:
      'File with certificates (PEM) that vouch for mail servers of channels, if Node does not know theirs.',
  },
  {
    path: 'eventsFile.path',
    default: '',
    isPath: always,
    isWritten: true,
    about: 'File that gets every event of the audit log, one JSON object in each line; if empty, none does.',
  },
  {
    path: 'eventsFile.megabytes',
    default: 100,
    from: 1,
    to: 100_000,
    about: 'When the file has grown to this size, it is put aside as PATH.1, PATH.2 and so on.',
  },
  {
    path: 'eventsFile.keep',
    default: 10,
    from: 0,
    to: 10_000,
    about: 'How many files are kept besides the current one; older ones are removed.',
  },
] as const satisfies readonly Bounded[];
