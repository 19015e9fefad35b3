import type { SettingValue } from './core/nouns/stored-setting.ts';

export type Value = SettingValue;

/** What is known of one setting. */
export interface Setting {
  readonly path: string;
  readonly default: Value;
  readonly about: string;
  /** Whether running servers apply a change at once, so that it can be kept in the store. */
  readonly isLive?: true;
  /** Whether a change while the server runs has to be confirmed: it could hand out the master key. */
  readonly isGuarded?: true;
  /** The allowed words; `from` and `to` are the range of a number. */
  readonly oneOf?: readonly string[];
  /** What the items of a list are. */
  readonly each?: { readonly called: string; isValid(word: string): boolean };
  /** What is between the items of a list in a flag or variable; a comma, unless they contain some. */
  readonly separator?: ';';
  readonly from?: number;
  readonly to?: number;
  /** The form of a text that is restricted. The default is always allowed. */
  readonly form?: {
    readonly called: string;
    /** Whether it may contain a user name and a password. */
    readonly hasCredentials?: true;
    isValid(text: string): boolean;
  };
  /** Says what is wrong with a value that is set while the server runs; such a value is never a path. */
  readonly findFault?: (value: Value) => string | null;
  /** Whether this value is the path of a file or folder. */
  readonly isPath?: (text: string) => boolean;
  /** Whether the server writes there. It trusts all other files that a setting names. */
  readonly isWritten?: true;
  /**
   * Set if the value contains a secret: returns the part that may be shown. A secret can also be in a file
   * that a variable with the ending `_FILE` names.
   */
  readonly show?: (text: string) => string;
}

/** A number needs its range. */
export type Bounded = Setting &
  ({ default: number; from: number; to: number } | { default: Exclude<Value, number> });

/** Whether a browser could send it as `Origin`; apps and extensions have their own schemes. */
export function isOrigin(word: string): boolean {
  if (word.includes('*')) return false;
  if (/^https?:/.test(word)) return URL.canParse(word) && new URL(word).origin === word;
  return !/^(?:file|ftp|wss?):/.test(word) && /^[a-z][a-z\d+.-]*:\/\/[a-z\d._-]+(:\d+)?$/.test(word);
}

/** Syslog has no path, and no names and passwords. */
export function isSyslogUrl(text: string): boolean {
  const url = /^(?:tls|tcp|udp):\/\/[^/?#@]+$/.test(text) ? URL.parse(text) : null;
  return url !== null && url.hostname !== '';
}

/** The name of an OpenID provider is where it is asked for its keys: nobody may change them on the way. */
export function isIssuer(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.search !== '' || url.hash !== '') return false;
  const isHere = /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname);
  return url.protocol === 'https:' || (url.protocol === 'http:' && isHere);
}

/** What is looked for, and by whom, has its own settings. */
export function isDirectoryUrl(text: string): boolean {
  return /^ldaps?:\/\/[^/?#@]+$/.test(text) && URL.parse(text) !== null;
}
