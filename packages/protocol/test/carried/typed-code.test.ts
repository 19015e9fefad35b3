import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import {
  codeSymbols,
  groupCode,
  groupGrantKey,
  groupHardwareId,
  isWholeCode,
  readGrantKey,
  readHardwareId,
  readTypedCode,
} from '../../src/carried/typed-code.ts';

const CODE = Buffer.from(Array.from({ length: 64 }, (_, index) => (index * 37 + 11) % 256)).toString(
  'base64',
);
const SYMBOLS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

function read(text: string, bytes = 64): string {
  const result = readTypedCode(text, bytes);
  return 'code' in result ? result.code : result.fault;
}

describe('a code in groups', () => {
  test('has 108 symbols in five lines for 64 bytes, and 55 in three for 32', () => {
    const lines = groupCode(CODE).split('\n');
    assert.deepEqual(
      lines.map((line) => line.split(' ').map(({ length }) => length)),
      [...Array.from({ length: 4 }, () => [5, 5, 5, 5, 5]), [5, 3]],
    );
    assert.match(lines.join(' '), /^[0-9A-HJKMNP-TV-Z ]+$/);
    const short = groupCode(randomBytes(32).toString('base64'));
    assert.deepEqual([short.replace(/\s/g, '').length, short.split('\n').length], [55, 3]);
  });

  test('is always the same for the same bytes', () => {
    const zeros = groupCode(Buffer.alloc(32).toString('base64'));
    assert.equal(zeros, '00000 00000 00000 00000 0000S\n00000 00000 00000 00000 0000Q\n0000F');
    const line = groupCode(Buffer.from('Hello, World').toString('base64'));
    assert.equal(line, '91JPR V3F5G G5EVV JDHJ0 5');
  });

  test('is read in any grouping, in small and capital letters, with I, L and O for 1 and 0', () => {
    for (let run = 0; run < 50; run++) {
      const code = randomBytes(64).toString('base64');
      const grouped = groupCode(code);
      const plain = codeSymbols(code);
      for (const typed of [
        grouped,
        plain,
        plain.toLowerCase(),
        grouped.replaceAll(' ', '-'),
        grouped.replaceAll('\n', '\r\n'),
        ` ${grouped.replaceAll('\n', '\t \n\n')} \n`,
        plain.replace(/.{7}/g, '$& '),
        plain.replaceAll('0', 'o').replaceAll('1', 'l'),
        plain.replaceAll('1', 'I'),
      ]) {
        assert.equal(read(typed), code);
      }
    }
  });

  test('is read as base64, too, whatever blanks it has', () => {
    for (const typed of [CODE, ` ${CODE}\n`, CODE.replace(/.{20}/g, '$&\n'), CODE.replace(/.{5}/g, '$& ')]) {
      assert.equal(read(typed), CODE);
    }
  });
});

describe('a mistake', () => {
  const lines = groupCode(CODE).split('\n');
  const withLine = (index: number, line: string) => lines.with(index, line).join('\n');

  test('of any one symbol is found, in its line', () => {
    const plain = codeSymbols(CODE);
    for (const [index, right] of [...plain].entries()) {
      for (const wrong of SYMBOLS) {
        if (wrong === right) continue;
        const typed = plain.slice(0, index) + wrong + plain.slice(index + 1);
        assert.equal(read(typed), `There is a mistake in line ${Math.floor(index / 25) + 1}.`);
      }
    }
  });

  test('of two swapped symbols is found, wherever in a line they are', () => {
    const [line = ''] = lines;
    const symbols = [...line.replaceAll(' ', '')];
    for (let a = 0; a < symbols.length; a++) {
      for (let b = a + 1; b < symbols.length; b++) {
        const [first, second] = [symbols[a] as string, symbols[b] as string];
        if (first === second) continue;
        const swapped = symbols.with(a, second).with(b, first).join('');
        assert.equal(read(withLine(0, swapped)), 'There is a mistake in line 1.');
      }
    }
  });

  test('of lines in another order is found', () => {
    const [first = '', second = ''] = lines;
    assert.equal(read(lines.with(0, second).with(1, first).join('\n')), 'There is a mistake in line 1.');
    assert.equal(read(withLine(2, second)), 'There is a mistake in line 3.');
  });

  test('of a missing or extra symbol is reported with its line', () => {
    const third = lines[2] as string;
    assert.equal(read(withLine(2, third.slice(1))), 'Line 3 has 24 characters instead of 25.');
    assert.equal(read(withLine(2, `${third}7`)), 'Line 3 has 26 characters instead of 25.');
    const joined = withLine(2, third.slice(1)).replaceAll('\n', ' ');
    assert.equal(read(joined), 'It has 107 characters instead of 108. The first mistake is in line 3.');
    assert.equal(read(lines.slice(0, 4).join('\n')), 'It has 100 characters instead of 108.');
    assert.equal(read(`${lines.join('\n')}\n7`), 'It has 109 characters instead of 108.');
  });

  test('of a symbol that no code contains is named', () => {
    const second = lines[1] as string;
    assert.equal(read(withLine(1, `U${second.slice(1)}`)), 'Line 2 has a "U", which no code contains.');
    assert.equal(read(withLine(1, `$${second.slice(1)}`)), 'Line 2 has a "$", which no code contains.');
  });

  test('of the padding bits of the last symbol is found, though its check is right', () => {
    // Eight more than the last symbol can be; the check is made anew for it.
    const zeros = codeSymbols(Buffer.alloc(32).toString('base64'));
    const typed = [...SYMBOLS].map((check) => read(`${zeros.slice(0, 53)}1${check}`, 32));
    assert.ok(typed.every((answer) => answer === 'There is a mistake in line 3.'));
  });

  test('of base64 is left to the signature', () => {
    assert.equal(read(CODE.slice(0, -1)), CODE.slice(0, -1));
    assert.equal(read('AbC'), 'AbC');
  });
});

test('can be checked line by line', () => {
  const lines = groupCode(CODE).split('\n');
  assert.deepEqual(
    lines.map((_, index) => isWholeCode(lines.slice(0, index + 1).join('\n'), 64)),
    [false, false, false, false, true],
  );
  assert.ok(isWholeCode(CODE, 64));
});

describe('a hardware id', () => {
  const id = randomBytes(32).toString('hex');

  test('that the server generated is grouped like a code', () => {
    const grouped = groupHardwareId(id) as string;
    assert.equal(readHardwareId(grouped), id);
    assert.equal(readHardwareId(grouped.toLowerCase().replaceAll('\n', '-')), id);
    assert.equal(readHardwareId(id), id);
  });

  test('in groups with a mistake is reported with its line', () => {
    const [first = '', second = '', third = ''] = (groupHardwareId(id) as string).split('\n');
    const other = second.startsWith('7') ? '8' : '7';
    const wrong = [first, other + second.slice(1), third];
    const fault = 'There is a mistake in line 2.';
    assert.deepEqual(readHardwareId(wrong.join('\n')), { fault });
    assert.deepEqual(readHardwareId(wrong.join(' \u2013 ')), { fault });
  });

  test('that somebody chose stays as it is', () => {
    for (const chosen of [
      'vault',
      'plant-3 west',
      'x'.repeat(55),
      'A-B-C',
      'rack-4-node-1-of-plant-3-in-hall-2',
      id.toUpperCase(),
    ]) {
      assert.equal(groupHardwareId(chosen), null);
      assert.equal(readHardwareId(chosen), chosen);
    }
  });
});

test('a grant key is read as it is and in groups, where mistakes are found', () => {
  const bytes = Buffer.from(Array.from({ length: 32 }, (_, index) => 255 - index));
  const x = bytes.toString('base64url');
  assert.match(x, /-/);
  assert.match(x, /_/);
  const grouped = groupGrantKey(x);
  assert.equal(grouped, groupCode(bytes.toString('base64')));
  for (const typed of [x, ` ${x}\n`, grouped, grouped.toLowerCase(), grouped.replace(/\s/g, '-')]) {
    assert.equal(readGrantKey(typed), x);
  }
  const wrong = grouped.replace(/^./, (symbol) => (symbol === '0' ? '1' : '0'));
  assert.deepEqual(readGrantKey(wrong), { fault: 'There is a mistake in line 1.' });
  for (const length of [`${x}A`, x.slice(1), bytes.toString('base64')]) {
    assert.deepEqual(readGrantKey(length), { fault: 'A key has 43 letters, digits, "-" and "_".' });
  }
});
