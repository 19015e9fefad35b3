import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findWhySlow } from './regex-time.ts';

const SLOW: [title: string, regex: RegExp][] = [
  ['the header Forwarded, as it was read once', /^\s*([\w-]+)="?([^"]*)"?\s*$/],
  ['blanks at the end', /\s+$/],
  ['from a sign to the end, which a line break prevents', /%.*$/],
  ['a search for a beginning whose end never comes', /<.*>/],
  ['an optional part that is searched to the end', /a(?:.*b)?/g],
  ['two adjacent repetitions', /^\s*\s*$/],
  ['two repetitions with something optional between them', /^\d*\.?\d*$/],
  ['a repetition in a repetition', /^(?:a+)+$/],
  ['one that may be empty', /^(?:a*)*$/],
  ['a repetition in an optional part', /^(?:(?:a*)*b)?/],
  ['the same choice twice', /^(?:a|a)*$/],
  ['choices with letters in common', /^(?:\w|\d)*$/],
  ['classes that overlap only when case is ignored', /^[a-z]*[A-Z]*$/i],
  ['classes that overlap only outside of ASCII', /^\p{L}*[\u00e0-\u00ff]*$/u],
  ['a lazy repetition', /^(?:a+?)+?$/],
  ['lines', /^a.*b$/m],
];

const FAST: [title: string, regex: RegExp][] = [
  ['one repetition', /^\s*$/],
  ['repetitions with a sign between them', /^\d+\.\d+$/],
  ['a search that cannot fail once it has begun', /\s+/g],
  ['a list', /^\w+(?:,\w+)*$/],
  ['choices without letters in common', /^(?:a|b)*$/],
  ['a repetition before a letter of its own', /^[\w.-]*\w$/],
  ['a quoted text', /"[^"]*"/g],
  ['a short lookbehind', /(?<!:):\w/g],
  ['one that is tried at one position', /\s+$/y],
];

describe('an expression takes more than linear time', () => {
  for (const [title, { source, flags }] of SLOW) {
    test(title, () => assert.match(findWhySlow(source, flags) ?? '', /\S/));
  }

  test('perhaps, if it has a back reference, looks far, or is not understood', () => {
    assert.match(findWhySlow('(a)\\1', '') ?? '', /refers back/);
    assert.match(findWhySlow('a(?=.*b)', '') ?? '', /looks ahead/);
    assert.match(findWhySlow('[a--b]', 'v') ?? '', /flag v/);
  });
});

describe('an expression takes linear time', () => {
  for (const [title, { source, flags }] of FAST) {
    test(title, () => assert.equal(findWhySlow(source, flags), null));
  }
});
