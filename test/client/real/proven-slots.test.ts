import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { connect, createFileStorage } from '../../../packages/client/src/main.ts';
import { BerthApi } from '../../support/berth-api.ts';
import { type CloudProcess, startCloudProcess } from '../../support/cloud/cloud-process.ts';
import { startServerHere } from '../../support/server-here.ts';
import { temporaryFolder } from '../../support/server-process.ts';
import { runPython, skip } from '../python/python.ts';

const PYTHON_PROGRAM = `
import json, sys
from berth_client import BerthError, Client, FileStorage
given = json.loads(sys.argv[1])
key, storage = open(given["key"], encoding="utf-8").read(), FileStorage(given["folder"])
def connect(server, product="cad"):
    return Client(server, product, vendor_key=key, storage=storage)
with connect(given["url"]).acquire() as slot:
    print(slot.is_held, slot.grant["product"], slot.grant["user"] == slot.user)
    until = connect(given["url"]).borrow("2h").until
borrow = connect("http://127.0.0.1:1").resume()
print(borrow.until == until, borrow.is_valid, borrow.grant["borrowed"])
for ask in (lambda client: client.acquire(), lambda client: client.resume()):
    try: ask(connect(given["fake"], "demo"))
    except BerthError as error:
        print(error.code, "same server as before" in error.message)
`;

describe('an application with the key of the vendor', () => {
  const ends: (() => unknown)[] = [];
  const life = { after: (work: () => unknown) => ends.push(work) };
  const folder = temporaryFolder(life);
  let cloud: CloudProcess;
  let url: string;
  let fake: Awaited<ReturnType<typeof startServerHere>>;

  before(async () => {
    cloud = await startCloudProcess(life);
    const vendor = ['--cloud-url', cloud.url, '--cloud-public-key', cloud.publicKeyFile];
    const server = await startServerHere({ data: temporaryFolder(life), args: vendor });
    url = server.url;
    const api = new BerthApi(url);
    ends.push(async () => {
      api.close();
      await server.stop();
    });
    await api.post('/api/v4/setKeys', { ...cloud.keys });
    const licenseKey = await cloud.grant('cad', '--slots', '3', '--borrow-hours', '24');
    const { status, text } = await api.post('/api/v4/addProduct', { product: 'cad', licenseKey });
    assert.equal(status, 200, text);
    fake = await startServerHere({ data: temporaryFolder(life), args: ['--demo'] });
    ends.push(() => fake.stop());
  });
  after(async () => {
    for (const end of ends.toReversed()) await end();
  });

  function open(server: string, product = 'cad') {
    const vendorKey = readFileSync(cloud.publicKeyFile, 'utf8');
    return connect({ server, product, vendorKey, storage: createFileStorage(join(folder, product)) });
  }

  test('trusts the server that the vendor has licensed, and what it borrows there', async () => {
    await using slot = await open(url).acquire();
    assert.deepEqual([slot.isHeld, slot.grant?.product, slot.grant?.user], [true, 'cad', slot.user]);
    const { until } = await open(url).borrow({ until: '2h' });
    const borrow = await open('http://127.0.0.1:1').resume();
    assert.deepEqual([borrow.until, borrow.isValid, borrow.grant?.borrowed], [until, true, true]);
  });

  test('trusts no server of somebody else', async () => {
    await assert.rejects(open(fake.url, 'demo').acquire(), {
      code: 'not_proven',
      message: /no certificate.*only that it is the same server as before/,
      advice: /connect the license server to the vendor/,
    });
    await assert.rejects(open(fake.url, 'demo').borrow(), { code: 'not_proven' });
    await assert.rejects(open(fake.url, 'demo').resume(), { code: 'no_borrow' });
  });

  test('in Python does the same', { skip }, async () => {
    const given = { url, fake: fake.url, key: cloud.publicKeyFile, folder: join(folder, 'python') };
    const { stdout } = await runPython(['-c', PYTHON_PROGRAM, JSON.stringify(given)]);
    assert.deepEqual(stdout.trim().split('\n'), [
      'True cad True',
      'True True True',
      'not_proven True',
      'no_borrow False',
    ]);
  });
});
