import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { InputError, readSecrets } from '../../src/cli/read-secrets.ts';

const ONE = [{ text: 'first' }];
const TWO = [{ text: 'first' }, { text: 'second' }];

/** Standard input that is no terminal. */
function pipe(...chunks: readonly (string | Uint8Array)[]): Readable {
  return Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
}

function refuseToAsk(): void {
  assert.fail('nobody is there to be asked');
}

/** A terminal on which somebody types when they are asked; what it echoes is up to raw mode. */
function terminal(...answers: readonly string[]) {
  const left = [...answers];
  const modes: boolean[] = [];
  const input = Object.assign(new EventEmitter(), {
    isTTY: true,
    setRawMode: (mode: boolean) => modes.push(mode),
    pause() {},
    resume() {
      const answer = left.shift();
      if (answer !== undefined) setImmediate(() => input.emit('data', Buffer.from(answer)));
    },
  });
  return { input: input as never, modes };
}

describe('lines that come through a pipe', () => {
  test('are taken as they are, without line ends', async () => {
    assert.deepEqual(await readSecrets(TWO, pipe(' a b \r\nc=d\n'), refuseToAsk), [' a b ', 'c=d']);
    assert.deepEqual(await readSecrets(TWO, pipe('a', 'b\nc', 'd'), refuseToAsk), ['ab', 'cd']);
    const bytes = Buffer.from('schlüssel\n');
    assert.deepEqual(await readSecrets(ONE, pipe(bytes.subarray(0, 5), bytes.subarray(5)), refuseToAsk), [
      'schlüssel',
    ]);
  });

  test('may be missing', async () => {
    assert.deepEqual(await readSecrets(TWO, pipe(), refuseToAsk), ['', '']);
    assert.deepEqual(await readSecrets(TWO, pipe('\nx'), refuseToAsk), ['', 'x']);
    assert.deepEqual(await readSecrets([], pipe('x'), refuseToAsk), []);
  });

  test('are not waited for when there are enough, and are limited in size', async () => {
    async function* endless() {
      yield Buffer.from('a\nb\n');
      await new Promise(() => {});
    }
    assert.deepEqual(await readSecrets(TWO, endless(), refuseToAsk), ['a', 'b']);
    await assert.rejects(readSecrets(ONE, pipe('x'.repeat(20_000)), refuseToAsk), InputError);
  });
});

describe('lines that are typed', () => {
  test('are asked for one by one, without an echo', async () => {
    const asked: string[] = [];
    const { input, modes } = terminal('one\r', 'twp\u007fo\n');
    assert.deepEqual(await readSecrets(TWO, input, (text) => asked.push(text)), ['one', 'two']);
    assert.deepEqual(asked, ['first: ', '\n', 'second: ', '\n']);
    assert.deepEqual(modes, [true, false, true, false]);
  });

  test('are typed twice if they are new', async () => {
    const prompts = [{ text: 'new', isNew: true }];
    assert.deepEqual(await readSecrets(prompts, terminal('abc\r', 'abc\r').input, () => {}), ['abc']);
    await assert.rejects(
      readSecrets(prompts, terminal('abc\r', 'abd\r').input, () => {}),
      /do not match/,
    );
  });

  test('end with Control-C, and the terminal is restored', async () => {
    const { input, modes } = terminal('ab\u0003');
    await assert.rejects(
      readSecrets(ONE, input, () => {}),
      InputError,
    );
    assert.deepEqual(modes, [true, false]);
  });
});

describe('a code of several lines', () => {
  const CODE = [{ text: 'code', isWhole: (typed: string) => typed.replace(/\s/g, '').length >= 6 }];

  test('is read from a pipe as a whole, and no more is waited for', async () => {
    async function* endless() {
      yield Buffer.from('ab\ncd');
      yield Buffer.from('\nef\n');
      await new Promise(() => {});
    }
    assert.deepEqual(await readSecrets(CODE, endless(), refuseToAsk), ['ab\ncd\nef\n']);
    assert.deepEqual(await readSecrets(CODE, pipe('abcdef\n'), refuseToAsk), ['abcdef\n']);
    assert.deepEqual(await readSecrets(CODE, pipe('ab\n', '\n', 'cd'), refuseToAsk), ['ab\n\n']);
    assert.deepEqual(await readSecrets(CODE, pipe('ab'), refuseToAsk), ['ab']);
  });

  test('is shown while it is typed or pasted, line by line until it is complete', async () => {
    const asked: string[] = [];
    const { input } = terminal('ab\rcx\u007fd\u001b\ref\r');
    assert.deepEqual(await readSecrets(CODE, input, (text) => asked.push(text)), ['ab\ncd\nef']);
    assert.equal(asked.join(''), 'code:\nab\ncx\b \bd\nef\n');
  });

  test('ends with an empty line', async () => {
    assert.deepEqual(await readSecrets(CODE, terminal('ab\r\r').input, () => {}), ['ab\n']);
    assert.deepEqual(await readSecrets(CODE, terminal('\r').input, () => {}), ['']);
  });
});
