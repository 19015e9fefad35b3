import type { Message } from '../core/notify/message.ts';

/** Slack's limit for the text of a block is 3,000. */
const MAX_SLACK_TEXT = 2900;

const MARKS = { critical: '🔴 ', warning: '🟠 ', info: '' } as const;

/** Blocks of plain text, in which nothing is markup. Three characters are read as entities all the same. */
export function slackBody({ title, lines, severity }: Message): string {
  const section = (text: string) => ({
    type: 'section',
    text: { type: 'plain_text', text: cutEscaped(escapeSlack(text)), emoji: false },
  });
  return JSON.stringify({
    // What a notification on a screen shows.
    text: escapeSlack(title),
    mrkdwn: false,
    blocks: [section(`${MARKS[severity]}${title}`), section(lines.join('\n'))],
  });
}

function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Half an entity at the end is left out. */
function cutEscaped(text: string): string {
  return cut(text, MAX_SLACK_TEXT).replace(/&[a-z]{0,3}…$/, '…');
}

/** Teams takes 28 kB. */
const MAX_TEAMS_TEXT = 6000;

const COLORS = { critical: 'Attention', warning: 'Warning', info: 'Default' } as const;

/** An Adaptive Card. Its text runs have no markup, unlike its text blocks. */
export function teamsBody({ title, lines, severity }: Message): string {
  const run = (text: string, style: object = {}) => ({
    type: 'RichTextBlock',
    // Cards replace functions of dates in double braces.
    inlines: [{ type: 'TextRun', text: text.replaceAll(/\{(?=\{)/g, '{ '), ...style }],
  });
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [
      run(title, { weight: 'Bolder', size: 'Medium', color: COLORS[severity] }),
      ...cutLines(lines, MAX_TEAMS_TEXT).map((line) => run(line)),
    ],
  };
  const card = { contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content };
  return JSON.stringify({ type: 'message', attachments: [card] });
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most).toWellFormed()}…`;
}

function cutLines(lines: readonly string[], most: number): readonly string[] {
  return cut(lines.join('\n'), most).split('\n');
}
