/** What an administrator is told, without any markup: whoever sends it escapes it. */
export interface Message {
  /** The same for every attempt, unless more has happened meanwhile. */
  readonly id: string;
  readonly severity: 'critical' | 'warning' | 'info';
  /** One line. */
  readonly title: string;
  readonly lines: readonly string[];
  /** Files for those who get mail. */
  readonly files?: readonly MessageFile[];
}

export interface MessageFile {
  readonly name: string;
  readonly content: string;
}
