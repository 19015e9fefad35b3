import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isGuessable } from '../../../src/core/access/guessable-password.ts';

const NAMES = ['ada.lovelace'];

const GUESSABLE: Readonly<Record<string, readonly string[]>> = {
  'a common word with digits': [
    'password1234',
    'Passwort2024!',
    'Welcome12345',
    'changeme!2026',
    'letmein12345',
  ],
  'a common word with digits for letters': ['P@ssw0rd1234', 'p4$$w0rd!!!!', 'Adm1n1strator', 'w3lc0me2berth'],
  'common words': ['administrator', 'adminadmin12', 'passwordpassword', 'iloveyouforever', 'licenseserver'],
  'a keyboard walk': [
    'qwertyuiop12',
    '1q2w3e4r5t6y',
    'zaq12wsxcde3',
    'asdfghjkl;12',
    'qwertzuiop12',
    'qwer-asdf-zxcv',
  ],
  'a walk across the keys': [
    'azertyuiopqs',
    'yxcvbnm,.-12',
    '!"§$%&/()=ab',
    '!@#$%^&*()_+',
    'q1w2e3r4t5y6',
    '1qaz2wsx3edc',
    'qazwsxedcrfv',
    'qweasdzxc-12',
    '147258369-ab',
    '159357-ab-12',
    'aabbccddeeff',
    'zxcvbnm,./12',
  ],
  'a keyboard walk backwards': ['poiuytrewq12', '0987654321ab', 'zyxwvutsrqpo'],
  'a sequence': ['123456789012', 'abcdefghijkl', '112233445566'],
  'a repetition': ['aaaaaaaaaaaa', 'abababababab', 'abc123abc123', '111222333444', 'hunter2hunter2'],
  'the name of its account': ['adalovelace1815', 'Lovelace-2030!', 'ada ada ada ada'],
  'the name of the product': ['berthberth2030', 'Berth!License!1'],
  'other forms of the same letters': ['ｐａｓｓｗｏｒｄ１２３４', 'PASSWORD1234'],
};

describe('a password that is easy to guess', () => {
  for (const [why, passwords] of Object.entries(GUESSABLE)) {
    test(`is ${why}`, () => {
      for (const password of passwords) assert.equal(isGuessable(password, NAMES), true, password);
    });
  }

  test('is none of these', () => {
    for (const password of [
      'a password of my own',
      'correct horse battery',
      'k7q-2mfx-9wjc',
      'tigers like old umbrellas',
      'zufriedene Schnecken im Regen',
      'мой новый пароль тут',
      '739205816473',
      'ein Passwort, das lang genug ist',
      'Vq8#mzLw2!pt',
    ]) {
      assert.equal(isGuessable(password, NAMES), false, password);
    }
  });

  test('may have signs for letters', () => {
    const signs = [
      '0o',
      '3e',
      '4a',
      '@a',
      '5s',
      '$s',
      '7t',
      '+t',
      '8b',
      '9g',
      '1i',
      '!i',
      '|i',
      '1l',
      '!l',
      '|l',
    ];
    for (const [sign, letter] of signs.map((pair) => [...pair])) {
      const name = `k${letter}zqvwxu`;
      assert.equal(isGuessable(`k${sign}zqvwxu`, [name]), true, `${sign} for ${letter}`);
      assert.equal(isGuessable(`k${sign}zqvwxu`, []), false);
    }
  });

  test('has names of three letters or more, years and three equal characters', () => {
    for (const [password, names, isOne] of [
      ['xyqxyqxyqkwm', ['xyq'], true],
      ['xyxyxyxykwmz', ['xy'], false],
      ['k-xyqvwz-m', ['a.xyqvwz'], true],
      ['2019-2018-kq', [], true],
      ['2119-2118-kq', [], false],
      ['kkk-qqq-zzzx', [], true],
      ['kk-qq-zz-', [], false],
      ['kaaawzqvmxu', [], false],
      ['kwzqvmxu', [], false],
      ['kwzqvmx', [], true],
    ] as const) {
      assert.equal(isGuessable(password, names), isOne, password);
    }
  });

  test('is judged as a whole, however long it is', () => {
    const most = 'qwertyuiop'.repeat(25);
    assert.equal(isGuessable(most, NAMES), true);
    assert.equal(isGuessable(`${most.slice(0, 200)}${'x1'.repeat(20)}vmzqk`, NAMES), false);
  });
});
