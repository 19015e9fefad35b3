import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { paint } from '../../src/console/console-text.ts';
import { createTerminal } from '../../src/console/terminal.ts';

describe('what is written to each stream', () => {
  /** Takes down what is written to it. */
  function createStream(isTTY: boolean) {
    const written: string[] = [];
    const write = (text: string) => written.push(text) > 0;
    return { isTTY, hasColors: () => isTTY, write, read: () => written.join('') } as const;
  }

  test('styles go only to a terminal, and each stream is judged separately', () => {
    const [stdout, stderr] = [createStream(false), createStream(true)];
    const terminal = createTerminal(stdout as never, stderr as never, {});
    terminal.print(paint('green', 'active'));
    terminal.warn('look');
    terminal.fail('no\u001b[31m');
    terminal.complain('plain\u001b[31m');
    assert.deepEqual(terminal.screen, { isTerminal: false, hasColor: false });
    assert.equal(stdout.read(), 'active\n');
    const [yellow, red] = ['\u001b[33mlook\u001b[39m', '\u001b[31mno\\u{1b}[31m\u001b[39m'];
    assert.equal(stderr.read(), `${yellow}\n${red}\nplain\\u{1b}[31m\n`);
  });
});
