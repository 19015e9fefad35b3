import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseArgs } from 'node:util';
import { type CommandLine, readCommandLine, UsageError } from '../../src/console/command-line.ts';

const LINE: CommandLine = {
  program: './berth',
  name: 'berth',
  version: '1.2.3',
  commands: [
    { words: 'one', usage: '[--license-id N] [--not-counted]', about: 'one' },
    { words: 'two', usage: '[--license KEY] [--counted]', about: 'two' },
    {
      words: 'all',
      usage: '[the flags of one]',
      otherFlags: '[--license-id N] [--not-counted]',
      about: 'all',
    },
  ],
  options: {
    license: { type: 'string' },
    'license-id': { type: 'string' },
    counted: { type: 'boolean' },
    'not-counted': { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  },
  allowNegative: false,
  commonFlags: ['help'],
  nouns: {},
  answers: {},
  topics: {},
  note: '',
  parse: (config) => parseArgs(config) as ReturnType<CommandLine['parse']>,
};

const flagsOf = (...argv: string[]) => {
  const read = readCommandLine(LINE, argv);
  assert.equal(read.kind, 'run');
  return { ...(read as { readonly flags: object }).flags };
};

test('a command takes the flags that its usage names', () => {
  assert.deepEqual(flagsOf('one', '--license-id', '7'), { 'license-id': '7' });
  assert.deepEqual(flagsOf('two', '--license', 'K', '--counted'), { license: 'K', counted: true });
  assert.deepEqual(flagsOf('all', '--not-counted'), { 'not-counted': true });
});

test('a value may begin with a dash, unless it could be a flag', () => {
  assert.deepEqual(flagsOf('two', '--license', '-uOk', '--counted'), { license: '-uOk', counted: true });
  assert.deepEqual(flagsOf('two', '--license=-uOk'), { license: '-uOk' });
  assert.deepEqual(flagsOf('two', '--license=--uOk'), { license: '--uOk' });
  assert.deepEqual(flagsOf('one', '--license-id', '-5'), { 'license-id': '-5' });
  for (const flag of ['--counted', '-h', '--uOk'])
    assert.throws(() => flagsOf('two', '--license', flag), /--license needs a value/);
  assert.throws(() => flagsOf('two', '--counted', '-uOk'), /Unknown flag "-u"/);
});

for (const [command, flag] of [
  ['one', 'license'],
  ['one', 'counted'],
  ['two', 'license-id'],
  ['two', 'not-counted'],
  ['all', 'license'],
] as const) {
  test(`"${command}" does not accept --${flag}, though it has a flag with a similar name`, () => {
    const isRefused = (error: unknown) =>
      error instanceof UsageError && error.message === `"./berth ${command}" does not accept --${flag}.`;
    assert.throws(
      () => readCommandLine(LINE, [command, `--${flag}`, '7'].slice(0, isBoolean(flag) ? 2 : 3)),
      isRefused,
    );
  });
}

function isBoolean(flag: string): boolean {
  return LINE.options[flag]?.type === 'boolean';
}
