import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { temporaryFolder } from '../../../../../test/support/server-process.ts';
import { applyPlan, isWritten } from '../../../src/cli/service/change-machine.ts';
import { LAUNCHD } from '../../../src/cli/service/launchd.ts';
import { describeService, findManager } from '../../../src/cli/service/plan-service.ts';
import type { ServiceFacts, ServiceManager } from '../../../src/cli/service/service-manager.ts';
import { SYSTEMD } from '../../../src/cli/service/systemd.ts';
import { createWindowsTask } from '../../../src/cli/service/windows-task.ts';
import { loadConfig } from '../../../src/config.ts';

const WINDOWS = createWindowsTask('C:\\ProgramData');
const AWKWARD = '/srv/50% of $HOME/"a\\b" & <c>';

function facts(over: Partial<ServiceFacts> = {}): ServiceFacts {
  const data = over.data ?? '/var/lib/berth/data';
  const program = ['/usr/local/bin/berth'];
  return { program, args: ['--data', data], data, folders: [], port: 8080, ...over };
}

function definitionOf(manager: ServiceManager, given: ServiceFacts): string {
  const file = manager.install(given).written.find(({ path }) => path === manager.definition);
  return file?.text ?? assert.fail('no definition');
}

/** The values of a name in the unit. */
function valuesOf(given: ServiceFacts, name: string): readonly string[] {
  const lines = definitionOf(SYSTEMD, given).split('\n');
  return lines.filter((line) => line.startsWith(`${name}=`)).map((line) => line.slice(name.length + 1));
}

function commandsOf(manager: ServiceManager, given: ServiceFacts): readonly string[] {
  return manager.install(given).after.map(({ words }) => words.join(' '));
}

function describeFlags(flags: Readonly<Record<string, string | boolean>>, self = ['/usr/local/bin/berth']) {
  const { config } = loadConfig({ flags, env: {}, file: null, home: '/nowhere' });
  return describeService({ self, flags, config });
}

describe('a service', () => {
  test('gets the flags of the command, with absolute paths', () => {
    const flags = { port: '9000', 'http-allow-keys-in-url': false, 'log-requests': true, rules: 'r.yaml' };
    const { args, data, port } = describeFlags({ ...flags, config: 'b.yaml' });
    const settings = ['--port', '9000', '--rules', resolve('r.yaml'), '--no-http-allow-keys-in-url'];
    const rest = ['--log-requests', '--data', '/nowhere/data'];
    assert.deepEqual(args, ['--config', resolve('b.yaml'), ...settings, ...rest]);
    assert.deepEqual([data, port], ['/nowhere/data', 9000]);
  });

  test('gets no secrets as flags', () => {
    for (const flags of [
      { 'database-url': 'postgres://ann:secret@db.example/berth' },
      { 'webhooks-url': 'https://hooks.example/secret' },
    ]) {
      assert.throws(() => describeFlags(flags), /^Error: Every user .* BERTH_\w+_URL_FILE for the service/);
    }
  });

  test('starts the executable, or the launcher of a clone', () => {
    assert.deepEqual(describeFlags({}).program, ['/usr/local/bin/berth']);
    const root = resolve(import.meta.dirname, '../../../../..');
    assert.deepEqual(describeFlags({}, ['/node', join(root, 'bin', 'main.ts')]).program, [
      join(root, 'berth'),
    ]);
    assert.deepEqual(describeFlags({}, ['/node', '/x/berth.cjs']).program, ['/node', '/x/berth.cjs']);
  });

  test('knows its data folder', () => {
    for (const [manager, data] of [
      [SYSTEMD, '/var/lib/berth/data'],
      [SYSTEMD, AWKWARD],
      [LAUNCHD, AWKWARD],
      [WINDOWS, 'C:\\Program Files\\Berth & Co\\data'],
      [WINDOWS, 'D:\\data'],
    ] as const) {
      assert.equal(manager.findData(definitionOf(manager, facts({ data }))), data);
    }
  });

  test('may write to the folder for backups', () => {
    assert.deepEqual(describeFlags({}).folders, []);
    assert.deepEqual(describeFlags({ 'backup-folder': '/mnt/backups' }).folders, ['/mnt/backups']);
  });

  test('has a manager on three platforms', () => {
    assert.deepEqual(
      (['linux', 'darwin', 'win32'] as const).map((platform) => findManager(platform, {}).name),
      ['systemd', 'launchd', 'a scheduled task'],
    );
    assert.throws(() => findManager('freebsd', {}), /cannot install a service on freebsd\. Let/);
  });

  test('does not use what belongs to users or is temporary', () => {
    for (const [manager, path] of [
      [SYSTEMD, '/home/ann/berth'],
      [SYSTEMD, '/tmp/berth'],
      [SYSTEMD, '/srv'],
      [LAUNCHD, '/Users/ann/berth'],
      [WINDOWS, 'C:\\Users\\ann\\berth.exe'],
    ] as const) {
      assert.match(
        manager.explainPath(path) ?? '',
        /^(The service cannot use|A service must not depend on) /,
      );
    }
    assert.deepEqual(
      [SYSTEMD.explainPath('/var/lib/berth'), SYSTEMD.explainPath('/homes/berth')],
      [null, null],
    );
  });
});

describe('the systemd unit', () => {
  test('has its data where systemd creates it, or may write to it elsewhere', () => {
    assert.deepEqual(valuesOf(facts(), 'StateDirectory'), ['berth/data']);
    assert.deepEqual(valuesOf(facts(), 'ReadWritePaths'), []);
    assert.equal(
      commandsOf(SYSTEMD, facts()).some((words) => words.startsWith('install')),
      false,
    );
    const elsewhere = facts({ data: '/srv/berth', folders: ['/var/lib/berth/more', '/mnt/more'] });
    assert.deepEqual(valuesOf(elsewhere, 'StateDirectory'), ['berth/more']);
    assert.deepEqual(valuesOf(elsewhere, 'ReadWritePaths'), ['/srv/berth /mnt/more']);
    assert.deepEqual(commandsOf(SYSTEMD, elsewhere).slice(1, 3), [
      'install -d -m 700 -o berth -g berth /srv/berth',
      'chown -R --from=root berth:berth /srv/berth',
    ]);
  });

  test('escapes what systemd would read as its own', () => {
    const [start] = valuesOf(facts({ data: AWKWARD }), 'ExecStart');
    const data = '"/srv/50%% of $$HOME/\\"a\\\\b\\" & <c>"';
    assert.equal(start, `/usr/local/bin/berth serve --data ${data}`);
    assert.deepEqual(valuesOf(facts({ data: AWKWARD }), 'ReadWritePaths'), [data.replace('$$', '$')]);
    assert.deepEqual(valuesOf(facts({ data: AWKWARD }), 'WorkingDirectory'), [AWKWARD.replace('%', '%%')]);
  });

  test('has no rights, except to listen on a low port', () => {
    for (const port of [0, 1024, 8080]) {
      assert.deepEqual(valuesOf(facts({ port }), 'CapabilityBoundingSet'), ['']);
      assert.deepEqual(valuesOf(facts({ port }), 'PrivateUsers'), ['yes']);
    }
    assert.deepEqual(valuesOf(facts({ port: 443 }), 'AmbientCapabilities'), ['CAP_NET_BIND_SERVICE']);
    assert.deepEqual(valuesOf(facts({ port: 443 }), 'PrivateUsers'), []);
  });

  test('has its state told by systemctl', () => {
    const running = 'LoadState=loaded\nActiveState=active\nSubState=running\nMainPID=7\n';
    const state = { installed: true, running: true, state: 'active (running)', process_id: 7 };
    assert.deepEqual(SYSTEMD.readState(running), state);
    const none = SYSTEMD.readState('LoadState=not-found\nActiveState=inactive\nSubState=dead\nMainPID=0\n');
    assert.deepEqual(none, { installed: false, running: false, state: 'inactive (dead)', process_id: null });
    assert.equal(SYSTEMD.readState(null).installed, false);
    const packaged = '/usr/lib/systemd/system/berth.service';
    assert.deepEqual(SYSTEMD.readState(`${running}FragmentPath=${packaged}\n`), {
      ...state,
      definition: packaged,
    });
  });
});

describe('the other managers', () => {
  test('launchd gets every word as a string of its own', () => {
    const plist = definitionOf(LAUNCHD, facts({ data: '/x & y' }));
    const words = [...plist.matchAll(/^ {4}<string>(.*)<\/string>$/gm)].map(([, word]) => word);
    assert.deepEqual(words, ['/usr/local/bin/berth', 'serve', '--data', '/x &amp; y']);
    assert.deepEqual(LAUNCHD.readState('x = {\n\tstate = running\n\tpid = 12\n}'), {
      installed: true,
      running: true,
      state: 'running',
      process_id: 12,
    });
    assert.equal(LAUNCHD.readState(null).installed, false);
  });

  test('Windows gets one line of arguments, with quotation marks where they are needed', () => {
    const given = facts({ program: ['C:\\a b\\node.exe', 'C:\\a b\\bin\\berth.js'], data: 'D:\\my data' });
    const task = definitionOf(WINDOWS, given);
    assert.ok(task.includes('<Command>&quot;C:\\a b\\node.exe&quot;</Command>'));
    const words = '"C:\\a b\\bin\\berth.js" serve --data "D:\\my data"'.replaceAll('"', '&quot;');
    assert.ok(task.includes(`<Arguments>${words}</Arguments>`), task);
    assert.deepEqual(
      ['Running\r\n', 'Ready\r\n', null].map((output) => WINDOWS.readState(output).running),
      [true, false, false],
    );
  });
});

describe('carrying out a plan', () => {
  const steps = { before: [], removed: [], after: [] };

  test('writes and removes files, and can be repeated', (t) => {
    const folder = temporaryFolder(t);
    const [path, old] = [join(folder, 'new', 'file'), join(folder, 'old')];
    writeFileSync(old, '');
    const written = [{ path, text: 'text', encoding: 'utf16le' }] as const;
    for (const isThere of [false, true]) {
      assert.equal(isWritten(written), isThere);
      applyPlan({ ...steps, written, removed: [old] });
    }
    assert.deepEqual([existsSync(old), isWritten([{ path, text: 'other' }])], [false, false]);
  });

  test('stops at the first command that fails, unless it may', (t) => {
    const file = join(temporaryFolder(t), 'file');
    const node = process.execPath;
    const fail = [node, '-e', 'console.error("no such user"); process.exit(3)'];
    const then = { words: [node, '-e', `fs.writeFileSync(${JSON.stringify(file)}, '')`] };
    const plan = { ...steps, written: [] };
    assert.throws(
      () => applyPlan({ ...plan, after: [{ words: fail }, then] }),
      /failed: no such user\nFix this, and run the command again\.$/,
    );
    assert.throws(() => applyPlan({ ...plan, after: [{ words: ['/none/at-all'] }] }), /failed: .*ENOENT/);
    applyPlan({ ...plan, after: [{ ...then, unless: [node, '-e', ''] }] });
    assert.equal(existsSync(file), false);
    applyPlan({
      ...plan,
      after: [
        { words: fail, mayFail: true },
        { ...then, unless: fail },
      ],
    });
    assert.equal(existsSync(file), true);
  });
});
