import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { html } from '../../../src/http/portal/html.ts';

describe('a template', () => {
  test('escapes every value, but not parts of the page', () => {
    const inner = html`<b>${'<&>"\''}</b>`;
    assert.equal(inner.markup, '<b>&lt;&amp;&gt;&quot;&#39;</b>');
    assert.equal(html`<p>${inner}${[inner, inner]}${7}</p>`.markup, `<p>${inner.markup.repeat(3)}7</p>`);
    assert.equal(html`${'&lt;'}`.markup, '&amp;lt;', 'once for each time that it is text');
    assert.equal(html`${[]}`.markup, '');
  });
});
