import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { importOptions } from '../../packages/server/src/services/rules/import/import-options.ts';
import { parseRules } from '../../packages/server/src/services/rules/parse-rules.ts';

const PAGE = readFileSync(new URL('../../docs/rules.md', import.meta.url), 'utf8');

/** Code in one language, with the heading that it is under. */
function listBlocks(language: string): readonly { readonly heading: string; readonly code: string }[] {
  return PAGE.split(/^#+ /m).flatMap((part) => {
    const heading = part.split('\n', 1)[0] ?? '';
    const blocks = part.matchAll(/^```(\w*)\n(.*?)^```/gms);
    return [...blocks].filter(([, name]) => name === language).map(([, , code = '']) => ({ heading, code }));
  });
}

describe('examples of rules', () => {
  const examples = listBlocks('yaml');

  for (const { heading, code } of examples) {
    test(`${heading}: valid, as expected, and nothing to warn of`, () => {
      const parsed = parseRules(code);
      assert.ok(!('errors' in parsed), JSON.stringify(parsed));
      assert.deepEqual(
        parsed.expectations.filter(({ ok }) => !ok),
        [],
      );
      assert.deepEqual(parsed.warnings, []);
    });
  }

  test('show every kind of rule', () => {
    const text = examples.map(({ code }) => code).join('');
    for (const kind of [
      'allow',
      'deny',
      'reserve',
      'limit',
      'borrow',
      'priority',
      'features',
      'during',
      'expect',
    ]) {
      assert.match(text, new RegExp(`\\b${kind}:`));
    }
  });
});

test('the options file becomes the rules that the page shows', () => {
  const [options] = listBlocks('text');
  const rules = listBlocks('yaml').at(-1);
  const imported = importOptions(options?.code ?? '');
  assert.ok(!('problem' in imported));
  assert.equal(imported.text.replace(/^#.*\n/gm, '').trim(), rules?.code.trim());
  assert.deepEqual(
    imported.report.filter(({ verdict }) => verdict !== 'same').map(({ source }) => source),
    ['LINGER CAD_PRO 30'],
  );
});
