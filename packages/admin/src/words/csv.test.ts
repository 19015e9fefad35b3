import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toCsv } from './csv.ts';

test('what a spreadsheet would run becomes text, and everything comes back as it was', () => {
  const rows = [
    ['user', 'slots'],
    ['=cmd|calc', 2],
    ['@sum(1)', -3],
    ['a, "b"\nc', null],
    ['+49 30', 0],
  ];
  const lines = ['user,slots', "'=cmd|calc,2", "'@sum(1),-3", '"a, ""b""\nc",', "'+49 30,0"];
  assert.equal(toCsv(rows), lines.map((line) => `${line}\r\n`).join(''));
});
