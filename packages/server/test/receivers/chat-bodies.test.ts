import assert from 'node:assert/strict';
import { test } from 'node:test';
import { slackBody, teamsBody } from '../../src/receivers/chat-bodies.ts';

const MESSAGE = {
  id: '1',
  severity: 'critical',
  title: '<!channel> & *bold* _x_',
  lines: ['[a](https://evil.example) <https://evil.example|a>', '{{DATE(2030-01-01T00:00:00Z)}}'],
} as const;

test('Slack gets plain text, in which nothing is a mention or a link', () => {
  const { text, mrkdwn, blocks } = JSON.parse(slackBody(MESSAGE));
  assert.deepEqual([text, mrkdwn], ['&lt;!channel&gt; &amp; *bold* _x_', false]);
  assert.deepEqual(
    blocks.map((block: { text: { type: string; emoji: boolean } }) => [block.text.type, block.text.emoji]),
    [
      ['plain_text', false],
      ['plain_text', false],
    ],
  );
  assert.doesNotMatch(JSON.stringify(blocks), /[<>]/);
});

test('Teams gets a card of text runs, which have no markup', () => {
  const { type, attachments } = JSON.parse(teamsBody(MESSAGE));
  const [card] = attachments;
  assert.equal(type, 'message');
  assert.equal(card.contentType, 'application/vnd.microsoft.card.adaptive');
  const { body } = card.content as { body: { type: string; inlines: { type: string; text: string }[] }[] };
  for (const block of body)
    assert.deepEqual([block.type, block.inlines[0]?.type], ['RichTextBlock', 'TextRun']);
  assert.deepEqual(
    body.map((block) => block.inlines[0]?.text),
    [MESSAGE.title, MESSAGE.lines[0], '{ {DATE(2030-01-01T00:00:00Z)}}'],
  );
});

test('braces of a name make no function of a card, however many there are', () => {
  assert.doesNotMatch(teamsBody({ ...MESSAGE, title: '{{{DATE()}}}', lines: [] }), /text":"[^"]*\{\{/);
});

test('a cut leaves no half of a character', () => {
  const lines = [`${'x'.repeat(2899)}😀😀`];
  const [, block] = JSON.parse(slackBody({ ...MESSAGE, lines })).blocks;
  assert.ok(block.text.text.isWellFormed());
});

test('long messages are cut to what both take', () => {
  const long = { ...MESSAGE, lines: Array.from({ length: 40 }, () => 'x<'.repeat(250)) };
  const { blocks } = JSON.parse(slackBody(long));
  assert.ok(blocks[1].text.text.length <= 3000, `${blocks[1].text.text.length}`);
  assert.ok(teamsBody(long).length < 28_000);
});
