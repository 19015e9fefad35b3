import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  describeScreen,
  emphasize,
  formatFacts,
  formatTable,
  paint,
  render,
  sayTime,
  toReadable,
} from '../../src/console/console-text.ts';

const TERMINAL = { isTerminal: true, hasColor: true };
const PIPE = { isTerminal: false, hasColor: false };

const tty = { isTTY: true, hasColors: () => true };
const pipe = { isTTY: false };

describe('whether there is color', () => {
  const CASES: readonly (readonly [string, object, Record<string, string>, boolean])[] = [
    ['on a terminal', tty, { TERM: 'xterm-256color' }, true],
    ['in a pipe', pipe, { TERM: 'xterm-256color' }, false],
    ['on a terminal that has none', { isTTY: true, hasColors: () => false }, {}, false],
    ['with TERM=dumb', tty, { TERM: 'dumb' }, false],
    ['with NO_COLOR', tty, { NO_COLOR: '1' }, false],
    ['with an empty NO_COLOR', tty, { NO_COLOR: '' }, true],
    ['with FORCE_COLOR in a pipe', pipe, { FORCE_COLOR: '1' }, true],
    ['with FORCE_COLOR and TERM=dumb', tty, { FORCE_COLOR: '1', TERM: 'dumb' }, true],
    ['with FORCE_COLOR=0', tty, { FORCE_COLOR: '0' }, false],
    ['with both', tty, { FORCE_COLOR: '1', NO_COLOR: '1' }, false],
  ];
  for (const [title, stream, env, hasColor] of CASES) {
    test(`${title}: ${hasColor ? 'yes' : 'no'}`, () => {
      assert.equal(describeScreen(stream, env).hasColor, hasColor);
    });
  }
});

describe('styles', () => {
  const red = paint('red', 'expired');

  test('are shown on a screen with color, and on no other', () => {
    assert.equal(render(red, TERMINAL), '\u001b[31mexpired\u001b[39m');
    assert.equal(render(red, PIPE), 'expired');
    assert.equal(emphasize('yellow', 'look', TERMINAL), '\u001b[33mlook\u001b[39m');
    assert.equal(emphasize('yellow', 'look', PIPE), 'look');
  });

  test('do not change the width of columns', () => {
    const rows = [
      [red, 'a'],
      ['active', 'b'],
    ];
    assert.equal(render(formatTable(['state', 'x'], rows), PIPE), 'state    x\nexpired  a\nactive   b');
    assert.equal(
      render(formatTable(['state', 'x'], rows), TERMINAL),
      'state    x\n\u001b[31mexpired\u001b[39m  a\nactive   b',
    );
  });

  test('cannot be faked by a name', () => {
    const name = '\u001b[31mroot\u001b[2J\u202e';
    const shown = '\\u{1b}[31mroot\\u{1b}[2J\\u{202e}';
    const { user } = toReadable({ user: name }, TERMINAL) as { user: string };
    assert.equal(render(`"${user}" holds a slot`, TERMINAL), `"${shown}" holds a slot`);
    assert.equal(render(formatTable(['user'], [[user]]), TERMINAL), `user\n${shown}`);
    assert.equal(emphasize('red', name, TERMINAL), `\u001b[31m${shown}\u001b[39m`);
    assert.equal(render('\u001b[2J', TERMINAL), '\\u{1b}[2J', 'what is no style of ours');
    const key = Object.keys(toReadable({ [name]: 1 }, TERMINAL) as object);
    assert.deepEqual(key, [shown]);
  });
});

describe('time', () => {
  const AT = '2026-11-15T19:56:03.123Z';

  function inZone<T>(zone: string, work: () => T): T {
    const before = process.env.TZ;
    process.env.TZ = zone;
    try {
      return work();
    } finally {
      if (before === undefined) delete process.env.TZ;
      else process.env.TZ = before;
    }
  }

  test('is local on a terminal, with its offset', () => {
    const say = () => sayTime(AT, TERMINAL);
    assert.equal(inZone('Europe/Berlin', say), '2026-11-15 20:56:03 +01:00');
    assert.equal(inZone('America/St_Johns', say), '2026-11-15 16:26:03 -03:30');
    assert.equal(inZone('Asia/Kathmandu', say), '2026-11-16 01:41:03 +05:45');
    assert.equal(inZone('UTC', say), '2026-11-15 19:56:03 +00:00');
    const summer = () => sayTime('2026-07-01T22:30:00.000Z', TERMINAL);
    assert.equal(inZone('Europe/Berlin', summer), '2026-07-02 00:30:00 +02:00');
  });

  test('is UTC elsewhere', () => {
    assert.equal(
      inZone('Europe/Berlin', () => sayTime(AT, PIPE)),
      AT,
    );
  });

  test('is converted wherever an answer has it, and nowhere else', () => {
    const answer = { at: AT, list: [{ ends_at: AT, user: 'x' }], count: 1, none: null, day: '2026-11-15' };
    const local = '2026-11-15 20:56:03 +01:00';
    const readable = inZone('Europe/Berlin', () => toReadable(answer, TERMINAL));
    assert.deepEqual(readable, { ...answer, at: local, list: [{ ends_at: local, user: 'x' }] });
    assert.deepEqual(toReadable(answer, PIPE), answer);
    const plain = { isTerminal: true, hasColor: false };
    const message = inZone('Europe/Berlin', () => emphasize('red', `Free at ${AT}.`, plain));
    assert.equal(message, `Free at ${local}.`);
    assert.equal(emphasize('red', `Free at ${AT}.`, PIPE), `Free at ${AT}.`);
  });
});

test('booleans become yes and no', () => {
  assert.equal(formatFacts({ healthy: true, leader: false }), 'healthy  yes\nleader   no');
});
