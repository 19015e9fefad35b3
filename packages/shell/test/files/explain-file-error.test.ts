import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { explainFileError } from '../../src/files/explain-file-error.ts';

const { filename: here, dirname: folder } = import.meta;

const CASES: readonly (readonly [string, 'read' | 'written', RegExp])[] = [
  [`${folder}/none`, 'read', /^The file \S+\/none does not exist\.$/],
  [folder, 'read', /^\S+ is a folder\. Give the path of a file\.$/],
  [`${here}/x`, 'read', /^\S+\/x cannot be read: part of its path is a file, not a folder\.$/],
  [`${folder}/none/x`, 'written', /^\S+\/none\/x cannot be written: its folder does not exist\. /],
  [folder, 'written', /^\S+ is a folder\. Give the path of a file\.$/],
];

for (const [file, doing, sentence] of CASES) {
  test(`${file} cannot be ${doing}`, () => {
    const use = () => (doing === 'read' ? readFileSync(file) : writeFileSync(file, ''));
    assert.throws(use, (error) => {
      assert.match(explainFileError(file, error, doing), sentence);
      return true;
    });
  });
}
