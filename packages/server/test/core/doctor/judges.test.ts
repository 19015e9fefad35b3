import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CLOCK_TOLERANCE_MS } from '../../../src/core/clock/clock.ts';
import { splitAdvice } from '../../../src/core/doctor/finding.ts';
import { judgeBackup } from '../../../src/core/doctor/judge-backup.ts';
import { judgeCertificate, judgeExposure } from '../../../src/core/doctor/judge-exposure.ts';
import {
  judgeChannels,
  judgeDatabase,
  judgeForwarding,
  judgeVersions,
  judgeWebhooks,
} from '../../../src/core/doctor/judge-links.ts';
import {
  judgeClock,
  judgeDiskHealth,
  judgeFiles,
  judgeRules,
  sayLength,
} from '../../../src/core/doctor/judge-machine.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import { NOW } from '../examples.ts';
import { exampleChannel } from '../notify/example-channel.ts';
import { readVerdicts as read } from './read-verdicts.ts';

const DISK = { folder: '/d', space: { freeMegabytes: 5000, totalMegabytes: 9000 }, wantedMegabytes: 1000 };

describe('the disk', () => {
  const SYNCS = [1, 2, 900, 3, 1];
  for (const [title, facts, expected] of [
    [
      'a single slow sync',
      { syncsMs: SYNCS },
      /^ok: 5000 of 9000 MB free; a sync takes 2\.0 ms, at most 900\.0 ms$/,
    ],
    ['slow ones', { syncsMs: [150, 150, 1] }, /^warning: .* slow; a sync takes 150\.0 ms/],
    ['none that works', { syncsMs: 'EIO.' }, /^problem: .*cannot be written: EIO\./],
    ['little space', { space: { ...DISK.space, freeMegabytes: 999 } }, /^warning: .*999 MB left/],
    ['no space', { space: { ...DISK.space, freeMegabytes: 99 }, wantedMegabytes: 0 }, /^problem: .*99 MB/],
    ['unknown space', { space: null }, /^warning: The free space of \/d is unknown\.$/],
    ['just enough space', { space: { ...DISK.space, freeMegabytes: 1000 } }, /^ok: 1000 of 9000 MB free$/],
    [
      'the least space',
      { space: { ...DISK.space, freeMegabytes: 100 }, wantedMegabytes: 0 },
      /^ok: 100 of 9000 MB free$/,
    ],
    ['just slow', { syncsMs: [1, 1, 100, 100] }, /^warning: .* slow; a sync takes 100\.0 ms/],
    ['not slow yet', { syncsMs: [99.9] }, /^ok: /],
  ] as const) {
    test(title, () => assert.match(read(judgeDiskHealth({ ...DISK, syncsMs: null, ...facts })), expected));
  }
});

test('files: the worst that others can do with each', () => {
  const file = { writable: null, readable: null, isGuarded: true };
  const [can, could] = ['Others write. Stop them.', 'Others read. Stop them.'];
  assert.match(read(judgeFiles([file])), /^ok: /);
  assert.equal(
    read(
      judgeFiles([
        { ...file, readable: could },
        { ...file, writable: can, readable: could },
      ]),
    ),
    'warning: Others read. | problem: Others write.',
  );
  assert.equal(read(judgeFiles([{ ...file, writable: can, isGuarded: false }])), 'warning: Others write.');
});

test('rules', () => {
  assert.equal(read(judgeRules(null, [], NOW)), 'ok: The rules file is valid, or there is none');
  assert.equal(read(judgeRules('Line 1 is not.', [], NOW)), 'problem: Line 1 is not.');
  const told = {
    group: 'cad',
    dn: 'cn=cad',
    members: [],
    answeredAt: plus(NOW, -3 * HOUR_MS),
    problem: null,
  };
  assert.equal(read(judgeRules(null, [told], NOW)), 'ok: The rules file is valid, or there is none');
  assert.equal(
    read(judgeRules(null, [{ ...told, problem: 'It is away.' }], NOW)),
    'warning: The members of "cad" are 3 hours old: ' +
      'the directory does not tell who is in "cn=cad". It is away.',
  );
});

test('a length of time in the unit that fits', () => {
  const lengths = [
    1000,
    2 * MINUTE_MS - 1,
    2 * MINUTE_MS,
    2 * HOUR_MS - 1,
    2 * HOUR_MS,
    2 * DAY_MS - 1,
    2 * DAY_MS,
  ];
  assert.deepEqual(lengths.map(sayLength), [
    ...['1 second', '120 seconds', '2 minutes', '119 minutes', '2 hours', '47 hours', '2 days'],
  ]);
});

describe('the clock', () => {
  const times = { now: NOW, wall: NOW, machineAt: NOW };
  const CLOCK = { ...times, jump: null, jumpAtStart: null, cloudAheadMs: null, hasTestClock: false };
  const jump = { direction: 'ahead', seenAt: NOW, gapMs: HOUR_MS } as const;
  const rest = {
    kind: 'clock_jumped',
    direction: 'ahead',
    serverAt: NOW,
    wallAt: NOW,
    followed: true,
  } as const;
  for (const [title, facts, expected] of [
    ['right', {}, /^ok: The server's time is the wall clock's$/],
    ['as the cloud has it', { cloudAheadMs: 0 }, /^ok: .*wall clock's, and the licensing cloud's$/],
    ['within tolerance', { now: plus(NOW, CLOCK_TOLERANCE_MS), machineAt: NOW }, /^ok: /],
    ['beyond tolerance', { now: plus(NOW, CLOCK_TOLERANCE_MS + 1) }, /^problem: /],
    [
      'a minute off',
      { cloudAheadMs: -MINUTE_MS },
      /^warning: .* is 60 seconds ahead of that of the licensing/,
    ],
    ['ahead', { jump }, /^problem: .*jumped ahead/],
    ['behind', { jump: { ...jump, direction: 'behind' } }, /^problem: .*is ahead of the wall clock/],
    ['behind, unnoticed', { now: plus(NOW, HOUR_MS) }, /^problem: .*is ahead of the wall clock/],
    ['far ahead at the start', { jumpAtStart: rest }, /^warning: While the server was stopped/],
    ['off from the database', { machineAt: plus(NOW, HOUR_MS) }, /60 minutes ahead of that of the database/],
    ['off from the cloud', { cloudAheadMs: 3 * DAY_MS }, /3 days behind that of the licensing cloud/],
    [
      'of tests',
      { hasTestClock: true, machineAt: plus(NOW, -HOUR_MS) },
      /^warning: This server is for tests/,
    ],
    ['a bit off from the cloud', { cloudAheadMs: -59_000 }, /^ok: /],
  ] as const) {
    test(title, () => assert.match(read(judgeClock({ ...CLOCK, ...facts })), expected));
  }
});

describe('the database', () => {
  const DATABASE = {
    engine: 'PostgreSQL 18',
    isHealthy: true,
    damage: null,
    changed: null,
    isRead: false,
    isShared: true,
    settings: { max_connections: '100' },
    host: 'db2:5432',
    port: 5432,
    servers: 2,
    connectionsPerServer: 10,
  };
  const standby = { max_connections: '100', synchronous_standby_names: 'a', synchronous_commit: 'local' };
  for (const [title, facts, expected] of [
    ['fine', {}, /^ok: PostgreSQL 18 at db2:5432 works$/],
    ['pooled', { host: 'db2:6432' }, /^ok: .*behind a pooler or proxy/],
    ['sick', { isHealthy: false }, /^problem: The last commit failed/],
    ['careless', { settings: standby }, /^warning: .*synchronous_commit is local/],
    ['without a standby', { settings: { ...standby, synchronous_standby_names: '' } }, /^ok: /],
    ['too small', { servers: 10 }, /^warning: .*100 connections, and the database allows 100/],
    ['unknown', { settings: {} }, /^ok: /],
    [
      'almost careless',
      { settings: { ...standby, synchronous_commit: 'remote_write' } },
      /^warning: .*remote_write/,
    ],
    ['safe', { settings: { ...standby, synchronous_commit: 'on' } }, /^ok: /],
    ['just large enough', { servers: 0, connectionsPerServer: 97 }, /^ok: /],
    ['just too small', { servers: 0, connectionsPerServer: 98 }, /^warning: The servers may open 98 /],
    ['alone', { isShared: false, servers: 10 }, /^ok: /],
    [
      'a file',
      { isShared: false, isRead: true, host: null },
      /^ok: PostgreSQL 18 works, and its file is intact$/,
    ],
    ['a large file', { isShared: false }, /^ok: .*; its file is too large to read all of it now$/],
    ['a changed file', { changed: 'page 7' }, /^problem: The file .* not as the server wrote it: page 7\. /],
    ['a damaged file', { damage: 'page 7' }, /^problem: The file .* damaged\. SQLite says: page 7\.$/],
  ] as const) {
    test(title, () => assert.match(read(judgeDatabase({ ...DATABASE, ...facts })), expected));
  }
});

test('versions: newer data and other servers', () => {
  const same = { version: '2', node: '26', schemaVersion: 5, knownSchema: 5, servers: [] };
  assert.equal(read(judgeVersions(same)), 'ok: Berth 2, Node 26, schema 5');
  const servers = ['2', '3'].map((version) => ({ hostname: `h${version}`, version }));
  const mixed = read(judgeVersions({ ...same, schemaVersion: 6, servers }));
  assert.match(mixed, /^warning: .*schema 6.* \| warning: The server on h3 is version 3/);
});

test('backups that fail, are late, or are forgotten', () => {
  const never = {
    lastAt: null,
    dueAt: null,
    failingAt: null,
    error: null,
    isScheduled: false,
    isKeyKept: true,
    now: NOW,
  };
  assert.match(read(judgeBackup(never)), /^warning: No backup was made yet\.$/);
  assert.match(read(judgeBackup({ ...never, isScheduled: true })), /^warning: No backup was made yet\.$/);
  const old = { ...never, lastAt: plus(NOW, -30 * DAY_MS) };
  assert.match(read(judgeBackup(old)), /^warning: The last backup was made at /);
  const due = { ...old, isScheduled: true, dueAt: plus(NOW, -DAY_MS) };
  assert.match(read(judgeBackup(due)), /^warning: A backup is due since /);
  assert.match(read(judgeBackup({ ...due, dueAt: plus(NOW, -HOUR_MS) })), /^ok: /);
  const alone = { ...due, dueAt: NOW, isKeyKept: false };
  assert.match(read(judgeBackup(alone)), /^warning: The master key is in no backup/);
  assert.match(read(judgeBackup({ ...never, isKeyKept: false })), /^warning: No backup was made yet\.$/);
  const failing = { ...due, failingAt: NOW };
  assert.match(read(judgeBackup({ ...failing, error: 'no.' })), /^problem: .*failed since .*: no\.$/);
  assert.match(read(judgeBackup({ ...failing, lastAt: null })), /^problem: [^:]*failed since [^ ]*\.$/);
  const recent = { ...old, lastAt: plus(NOW, -30 * DAY_MS + 1) };
  assert.match(read(judgeBackup(recent)), /^ok: The last backup was made at .*; backup\.schedule makes them/);
  assert.match(
    read(judgeBackup({ ...recent, isScheduled: true })),
    /^ok: The last backup was made at [^;]*$/,
  );
  assert.match(
    read(judgeBackup({ ...never, isScheduled: true, isKeyKept: false })),
    /yet\. \| warning: The mas/,
  );
});

test('webhooks that fail or have lost events', () => {
  const fine = { state: 'ok', failingAt: null, error: null, waiting: 0, dropped: 0 } as const;
  assert.equal(read(judgeWebhooks(fine)), 'ok: The webhook gets its events');
  assert.equal(read(judgeWebhooks({ ...fine, state: 'untried' })), 'ok: A webhook is configured');
  assert.equal(read(judgeWebhooks({ ...fine, state: 'off' })), 'ok: No webhook is configured');
  assert.match(
    read(judgeWebhooks({ ...fine, state: 'failing', failingAt: NOW, error: 'no' })),
    / since [^:]/,
  );
  assert.match(
    read(judgeWebhooks({ ...fine, state: 'failing', error: 'it is away', waiting: 3 })),
    /^warning: Events have not reached the webhook: it is away\. Events that wait: 3\.$/,
  );
  assert.match(
    read(judgeWebhooks({ ...fine, state: 'no_secret', error: 'Make one.' })),
    /^warning: .*no secret\.$/,
  );
  assert.match(read(judgeWebhooks({ ...fine, dropped: 4 })), /^warning: 4 events were dropped/);
});

test('receivers of every event that fail', () => {
  const fine = { state: 'ok', failingAt: null, error: null, waiting: 0, dropped: 0 } as const;
  const off = { ...fine, state: 'off' } as const;
  const judge = (syslog: Parameters<typeof judgeForwarding>[0][string]) =>
    read(judgeForwarding({ 'syslog.url': syslog, 'eventsFile.path': off }));
  assert.equal(judge(off), 'ok: Events are forwarded nowhere');
  assert.equal(judge(fine), 'ok: "syslog.url" gets every event');
  assert.equal(judge({ ...fine, state: 'untried' }), 'ok: "syslog.url" is configured');
  const failing = { ...fine, state: 'failing', failingAt: NOW, error: 'it is away', waiting: 3 } as const;
  assert.match(
    judge(failing),
    /^warning: Events have not reached "syslog\.url" since .*: it is away\. .* 3\.$/,
  );
});

test('channels that fail, are paused, or can be read on the way', () => {
  const fine = { channel: exampleChannel(), state: 'ok', failingAt: null, error: null } as const;
  const judge = (facts: object) => read(judgeChannels([{ ...fine, ...facts }]));
  const sendTo = (url: string) => judge({ channel: exampleChannel({ target: { kind: 'teams', url } }) });
  assert.equal(read(judgeChannels([])), 'ok: Administrators get no messages');
  assert.equal(judge({}), 'ok: Administrators get messages by "ops"');
  assert.match(judge({ state: 'paused' }), /^warning: The channel "ops" is paused\.$/);
  const failing = { state: 'failing', failingAt: NOW, error: 'it hangs' };
  assert.match(
    judge(failing),
    /^warning: Messages have not reached the channel "ops" since 20.*: it hangs\.$/,
  );
  assert.match(judge({ error: 'it refused bob' }), /^warning: .* did not reach everyone: it refused bob\.$/);
  assert.match(sendTo('http://chat.example/'), /^warning: .* can be read on the network\.$/);
  assert.match(sendTo('http://127.0.0.1:1/'), /^ok/);
  const host = { kind: 'mail', to: [], from: '', host: 'mx', port: 25, user: null, password: null } as const;
  const mail = (security: 'none' | 'tls') => exampleChannel({ target: { ...host, security } });
  assert.match(judge({ channel: mail('none') }), /^warning/);
  assert.match(judge({ channel: mail('tls') }), /^ok/);
});

test('exposure behind a proxy is a warning, and over TLS none', () => {
  const facts = {
    host: '10.0.0.1',
    isLoopback: false,
    isPublic: false,
    hasTls: false,
    hasProxies: true,
    clients: 'open',
    localAdmin: 'setup',
    isOneTimePasswordInUse: null,
    isSetUp: null,
    plainUrls: [],
  } as const;
  assert.match(read(judgeExposure(facts)), /^warning: .*without TLS/);
  assert.match(read(judgeExposure({ ...facts, hasProxies: false })), /^problem: .*without TLS/);
  const safe = { ...facts, hasTls: true };
  assert.equal(read(judgeExposure(safe)), 'ok: The server is reachable over TLS');
  assert.equal(
    read(judgeExposure({ ...facts, isLoopback: true })),
    'ok: Only this machine can reach the server',
  );
  assert.match(read(judgeExposure({ ...safe, isPublic: true })), /^warning: The server has a public address/);
  assert.match(read(judgeExposure({ ...safe, isPublic: true, clients: 'required' })), /^ok: /);
  assert.match(
    read(judgeExposure({ ...safe, localAdmin: 'always' })),
    /^warning: "auth\.localAdmin" is "always"/,
  );
  assert.match(
    read(judgeExposure({ ...safe, plainUrls: ['a', 'b'] })),
    /^warning: What is sent to "a" .* \| warning: What is sent to "b" /,
  );
  const oneTime = { ...safe, isOneTimePasswordInUse: true };
  assert.match(read(judgeExposure(oneTime)), /^warning: .*one-time password: it may be guessed or seen\.$/);
  const here = { ...oneTime, isLoopback: true };
  assert.match(read(judgeExposure(here)), /: every user of this machine can/);
  assert.match(read(judgeExposure({ ...here, isSetUp: true })), /: it may be guessed or seen/);
  assert.match(read(judgeExposure({ ...safe, isOneTimePasswordInUse: false })), /^ok: /);
});

test('a certificate is told of two weeks before its end, or as early as its notice', () => {
  const at = (days: number) => ({ validUntil: plus(NOW, days * DAY_MS), missingNames: [], hasNames: true });
  assert.match(read(judgeCertificate(at(15), NOW, 0)), /^ok: /);
  assert.match(read(judgeCertificate(at(14), NOW, 0)), /^warning: .*expires on/);
  assert.match(read(judgeCertificate(at(29), NOW, 30)), /^warning: /);
  assert.match(read(judgeCertificate(at(31), NOW, 30)), /^ok: The certificate is valid until /);
  assert.match(read(judgeCertificate(at(0), NOW, 30)), /^problem: The certificate expired on /);
  assert.equal(read(judgeCertificate(null, NOW, 30)), 'ok: The server uses plain HTTP');
  assert.equal(read(judgeCertificate('It is gone.', NOW, 30)), 'problem: It is gone.');
  assert.deepEqual(judgeCertificate('It is gone. Make it.', NOW, 30), [
    { severity: 'problem', text: 'It is gone.', advice: 'Make it.' },
  ]);
  assert.match(
    read(judgeCertificate({ ...at(90), missingNames: ['a'] }, NOW, 14)),
    /^warning: .*not for a\.$/,
  );
  assert.match(read(judgeCertificate({ ...at(90), hasNames: false }, NOW, 14)), /^warning: .*names no hosts/);
});

test('a message is split into what is wrong and what to do', () => {
  assert.deepEqual(splitAdvice('It is. Do it. Now.'), { text: 'It is.', advice: 'Do it. Now.' });
  assert.deepEqual(splitAdvice('It is.'), { text: 'It is.', advice: null });
});
