/** What the API, the command line and the server choose from. Without zod, so that all can read it. */

/** What an account or a token may do. */
export const ROLES = ['user', 'viewer', 'operator', 'admin'] as const;

/** The same for people, on the page and in `docs/securing.md`. */
export const RIGHTS: Readonly<Record<(typeof ROLES)[number] | 'operator of products', string>> = {
  user: 'asks for slots, counts consumption',
  viewer: 'sees everything, changes nothing',
  operator: 'sees everything, takes back slots, asks for some',
  'operator of products': 'the same, but only for these products; nothing that concerns the whole server',
  admin: 'may do everything',
};

/** What can be barred. */
export const BAR_KINDS = ['user', 'host', 'address'] as const;

/** How messages to administrators are sent. */
export const CHANNEL_KINDS = ['mail', 'slack', 'teams', 'webhook'] as const;

/** How a connection to a mail server is encrypted: after it began, from its start, or not. */
export const MAIL_SECURITIES = ['starttls', 'tls', 'none'] as const;

/** How often a channel gets a digest. */
export const DIGESTS = ['off', 'daily', 'weekly', 'monthly'] as const;

/** The subjects of an examination, in its order: the clock is compared with the answer of the cloud. */
export const CHECKS = [
  'server',
  'disk',
  'permissions',
  'rules',
  'cloud',
  'clock',
  'certificate',
  'grants',
  'database',
  'versions',
  'backup',
  'webhooks',
  'channels',
  'forwarding',
  'provider',
  'exposure',
] as const;

/** `problem`: something does not work, or will be lost or stolen. `warning`: look at it soon. */
export const SEVERITIES = ['ok', 'warning', 'problem'] as const;

/** Where the value of a setting comes from; each counts before the ones that follow it. */
export const SETTING_SOURCES = ['flag', 'environment', 'file', 'stored', 'default'] as const;

/** Why somebody waits for a slot: all are in use, those that are free are reserved, or a limit is reached. */
export const WAIT_REASONS = ['full', 'reserved', 'limit'] as const;

/** What a list of slots can be sorted by. */
export const SLOT_ORDERS = ['user', 'host', 'address', 'license', 'state', 'since', 'until'] as const;
