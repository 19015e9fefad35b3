import assert from 'node:assert/strict';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../../test/support/server-process.ts';
import { instant } from '../../src/core/nouns/instant.ts';
import { presentSent } from '../../src/http/reply/present-event.ts';
import type { SentEvent } from '../../src/receivers/event-receiver.ts';
import { createEventsFile } from '../../src/receivers/events-file.ts';

const { signal } = new AbortController();

function eventOf(version: string): SentEvent {
  const event = { kind: 'server_started', version } as const;
  return { id: `${version}.0`, licenseId: null, at: instant(0), event };
}

function readVersions(path: string): string[] {
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line).version);
}

test('events are lines of a file that only its owner reads, after a line that a crash has cut', async (t) => {
  const path = join(temporaryFolder(t), 'events.json');
  const file = createEventsFile({ path, maxBytes: 1e6, kept: 2, signal, present: presentSent });
  assert.deepEqual(await file.send([eventOf('1'), eventOf('2')]), { kind: 'delivered' });
  assert.deepEqual(readVersions(path), ['1', '2']);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  appendFileSync(path, '{"id":"3.0","ki');
  await file.send([eventOf('3')]);
  const lines = readFileSync(path, 'utf8').split('\n');
  assert.equal(lines[2], '{"id":"3.0","ki');
  assert.equal(JSON.parse(lines[3] as string).version, '3');
});

test('a file that is full is put aside, and the oldest goes', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'events.json');
  const file = createEventsFile({ path, maxBytes: 1, kept: 2, signal, present: presentSent });
  for (const version of ['1', '2', '3', '4']) await file.send([eventOf(version)]);
  assert.deepEqual(readdirSync(folder).sort(), ['events.json', 'events.json.1', 'events.json.2']);
  assert.deepEqual(
    ['', '.1', '.2'].flatMap((end) => readVersions(path + end)),
    ['4', '3', '2'],
  );
  const single = createEventsFile({ path, maxBytes: 1, kept: 0, signal, present: presentSent });
  await single.send([eventOf('5')]);
  assert.deepEqual(readVersions(path), ['5']);
  assert.deepEqual(readdirSync(folder), ['events.json'], 'fewer are kept now');
});

test('a file that was being put aside when the server crashed is kept', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'events.json');
  const file = createEventsFile({ path, maxBytes: 1, kept: 3, signal, present: presentSent });
  for (const version of ['1', '2']) await file.send([eventOf(version)]);
  renameSync(path, `${path}.aside`);
  for (const version of ['3', '4']) await file.send([eventOf(version)]);
  assert.deepEqual(
    ['', '.1', '.2', '.3'].flatMap((end) => readVersions(path + end)),
    ['4', '3', '2', '1'],
  );
});

test('a server that stops writes nothing more', async (t) => {
  const path = join(temporaryFolder(t), 'events.json');
  const stopped = AbortSignal.abort();
  const file = createEventsFile({ path, maxBytes: 1, kept: 1, signal: stopped, present: presentSent });
  assert.deepEqual(await file.send([eventOf('1')]), { kind: 'stopping' });
  assert.ok(!existsSync(path));
});

test('what cannot be written is told, and written later', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'away', 'events.json');
  const file = createEventsFile({ path, maxBytes: 1, kept: 1, signal, present: presentSent });
  const failed = await file.send([eventOf('1')]);
  assert.equal(failed.kind, 'failed');
  assert.match('reason' in failed ? failed.reason : '', /events\.json.*[^.]$/);
  mkdirSync(join(folder, 'away'));
  assert.deepEqual(await file.send([eventOf('1')]), { kind: 'delivered' });
  assert.deepEqual(readVersions(path), ['1']);
});
