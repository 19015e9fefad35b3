import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explainTemplate, fillTemplate } from '../../../src/core/notify/template.ts';

const MESSAGE = {
  id: '1.2.ops',
  severity: 'warning',
  title: 'bob"},{"x":"\\ was {{server}}',
  lines: ['one', 'two $& \u{1F600}'],
} as const;

test('what a message says stays inside the texts of the template', () => {
  const template = '{"a":["{{title}}"],"b":{"c":"<{{ text }}>","n":1},"d":"{{id}} {{severity}} {{server}}"}';
  assert.deepEqual(JSON.parse(fillTemplate(template, MESSAGE, 'lic-01')), {
    a: [MESSAGE.title],
    b: { c: '<one\ntwo $& \u{1F600}>', n: 1 },
    d: '1.2.ops warning lic-01',
  });
});

test('what only looks like the name of a value stays as it is', () => {
  const filled = fillTemplate('{"a":"{{title}} {{\\u0063onstructor}} {{\\u0078}}"}', MESSAGE, 'lic-01');
  assert.deepEqual(JSON.parse(filled), { a: `${MESSAGE.title} {{constructor}} {{x}}` });
});

test('a template that cannot work is refused with a sentence', () => {
  assert.equal(explainTemplate('{"text":"{{text}}"}'), null);
  const wrong: readonly (readonly [string, RegExp])[] = [
    ['text={{text}}', /must be JSON/],
    ['{"text":{{text}}}', /must be JSON/],
    ['{"text":"hello"}', /names nothing of the message/],
    ['{"text":"{{constructor}}"}', /names \{\{constructor\}\}\. It can name \{\{title\}\},/],
    [`${'['.repeat(30)}"{{text}}"${']'.repeat(30)}`, /nested too deeply/],
  ];
  for (const [template, sentence] of wrong) assert.match(explainTemplate(template) ?? '', sentence);
});
