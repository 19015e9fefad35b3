import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  drawQrCode,
  makeQrCode,
  outlineQrCode,
  renderQrCode,
  showQrCode,
} from '../../src/carried/qr-code.ts';
import { readScannedText, writeScannedText } from '../../src/carried/scanned-text.ts';

describe('a QR code', () => {
  test('is square, with a margin of four light modules and three finders', () => {
    const code = makeQrCode('x'.repeat(230));
    assert.equal(code.length, 69, 'fits a terminal of 80 columns');
    assert.ok(code.every((row) => row.length === code.length));
    const isLight = (rows: readonly (readonly boolean[])[]) => rows.flat().every((isDark) => !isDark);
    assert.ok(isLight(code.slice(0, 4)) && isLight(code.slice(-4)));
    assert.ok(isLight(code.map((row) => [...row.slice(0, 4), ...row.slice(-4)])));
    const finder = (x: number, y: number) =>
      code
        .slice(y, y + 7)
        .map((row) =>
          row
            .slice(x, x + 7)
            .map(Number)
            .join(''),
        )
        .join('/');
    for (const [x, y] of [
      [4, 4],
      [58, 4],
      [4, 58],
    ] as const) {
      assert.equal(finder(x, y), '1111111/1000001/1011101/1011101/1011101/1000001/1111111');
    }
  });

  test('is drawn in half blocks, two rows per line', () => {
    const code = [
      [true, false, true, false],
      [true, true, false, false],
      [false, true, true, false],
    ];
    assert.deepEqual(drawQrCode(code), ['█▄▀ ', ' ▀▀ ']);
    assert.equal(outlineQrCode(code.slice(2)), 'M1 0h1v1h-1zM2 0h1v1h-1z');
  });

  test('is dark on light on every terminal, and plain elsewhere', () => {
    const plain = renderQrCode('BERTH', null);
    assert.match(plain, /^[█▀▄ \n]+$/);
    const painted = renderQrCode('BERTH', 80);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the colours
    assert.equal(painted.replace(/\u001b\[(?:30;107|0)m/g, ''), plain);
    for (const line of painted.split('\n')) assert.ok(line.startsWith('\u001b[30;107m'));
    assert.match(renderQrCode('BERTH', 20), /^\(The QR code needs 29 columns, and this terminal has 20\.\)$/);
  });

  test('is shown on terminals, and elsewhere on request', () => {
    const shown = (isWanted: boolean | undefined, columns: number | null) => {
      const drawn: string[] = [];
      showQrCode('BERTH', isWanted, { columns, draw: (picture) => void drawn.push(picture) });
      return drawn.length;
    };
    assert.deepEqual([shown(undefined, 80), shown(undefined, null)], [1, 0]);
    assert.deepEqual([shown(true, null), shown(false, 80)], [1, 0]);
  });
});

test('the text of a QR code keeps every field, whatever it contains', () => {
  const fields = { license_key: 'A B&C=ü\n', hardware_id: 'plant 3', activation_code: 'ABC' };
  const text = writeScannedText(fields);
  assert.ok(!text.includes('\n'));
  assert.deepEqual(Object.fromEntries(readScannedText(` ${text}\n`, 'activation_code') ?? []), fields);
  assert.equal(readScannedText('ABCDE FGHJK', 'activation_code'), null);
});
