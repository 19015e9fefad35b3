import { crc32, deflateRawSync } from 'node:zlib';
import { type ArchivedFile, FILE_MODE } from './tar.ts';

const LOCAL_HEADER = 0x04034b50;
const CENTRAL_HEADER = 0x02014b50;
const END_OF_ZIP = 0x06054b50;
const VERSION = 20;
const MADE_ON_UNIX = 3 << 8;
const DEFLATED = 8;
const REGULAR_FILE = 0o100000;

/** A zip archive, which Windows opens by itself. The same files give the same bytes. */
export function writeZip(files: readonly ArchivedFile[], epoch: number): Buffer {
  const members: Buffer[] = [];
  const entries: Buffer[] = [];
  let offset = 0;
  for (const { path, content, mode = FILE_MODE } of files) {
    const packed = deflateRawSync(content, { level: 6 });
    const name = Buffer.from(path);
    const facts = [
      short(VERSION, 0, DEFLATED),
      long(zipTime(epoch), crc32(content), packed.length, content.length),
      short(name.length, 0),
    ];
    const member = Buffer.concat([long(LOCAL_HEADER), ...facts, name, packed]);
    const unixMode = ((REGULAR_FILE | mode) << 16) >>> 0;
    entries.push(long(CENTRAL_HEADER), short(VERSION | MADE_ON_UNIX), ...facts);
    entries.push(short(0, 0, 0), long(unixMode, offset), name);
    members.push(member);
    offset += member.length;
  }
  const central = Buffer.concat(entries);
  const end = [
    long(END_OF_ZIP, 0),
    short(files.length, files.length),
    long(central.length, offset),
    short(0),
  ];
  return Buffer.concat([...members, central, ...end]);
}

function short(...values: number[]): Buffer {
  return Buffer.from(Uint16Array.from(values).buffer);
}

function long(...values: number[]): Buffer {
  return Buffer.from(Uint32Array.from(values).buffer);
}

/** Two seconds are the smallest unit. */
function zipTime(epoch: number): number {
  const time = new Date(epoch * 1000);
  const date = ((time.getUTCFullYear() - 1980) << 9) | ((time.getUTCMonth() + 1) << 5) | time.getUTCDate();
  const clock = (time.getUTCHours() << 11) | (time.getUTCMinutes() << 5) | (time.getUTCSeconds() >> 1);
  return ((date << 16) | clock) >>> 0;
}
