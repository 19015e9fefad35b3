import { posix } from 'node:path';
import {
  escapeXml,
  findBetween,
  type ServiceFacts,
  type ServiceManager,
  type ServiceState,
  unescapeXml,
} from './service-manager.ts';

const LABEL = 'local.berth.server';
const PLIST = `/Library/LaunchDaemons/${LABEL}.plist`;
const USER = '_berth';
/** The range for accounts of services ends with 400. */
const USER_ID = '391';
const LOGS = '/Library/Logs/Berth';
const LOG = posix.join(LOGS, 'berth.log');

/** macOS. */
export const LAUNCHD: ServiceManager = {
  name: 'launchd',
  user: USER,
  definition: PLIST,
  log: `Its log is ${LOG}.`,
  explainPath: (path) =>
    /^\/(?:Users|private\/tmp|tmp|var\/folders)\//.test(path)
      ? `A service must not depend on ${path}, which belongs to a user or is temporary.`
      : null,
  install: (facts) => ({
    before: [],
    written: [{ path: PLIST, text: writePlist(facts) }],
    removed: [],
    after: [
      {
        words: ['sysadminctl', '-addUser', USER, '-roleAccount', '-UID', USER_ID, '-shell', '/usr/bin/false'],
        unless: ['id', '-u', USER],
      },
      ...[LOGS, facts.data, ...facts.folders].map((folder) => ({
        words: ['install', '-d', '-m', '700', '-o', USER, folder],
      })),
      { words: ['launchctl', 'bootout', `system/${LABEL}`], mayFail: true },
      { words: ['launchctl', 'bootstrap', 'system', PLIST] },
    ],
  }),
  uninstall: () => ({
    before: [{ words: ['launchctl', 'bootout', `system/${LABEL}`], mayFail: true }],
    written: [],
    removed: [PLIST],
    after: [],
  }),
  findData: (plist) => {
    const data = findBetween(plist, '<string>--data</string>\n    <string>', '</string>');
    return data === null ? null : unescapeXml(data);
  },
  query: ['launchctl', 'print', `system/${LABEL}`],
  readState,
};

function writePlist({ program, args }: ServiceFacts): string {
  const words = [...program, 'serve', ...args].map((word) => `    <string>${escapeXml(word)}</string>`);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
    '<plist version="1.0">',
    '<dict>',
    `  <key>Label</key><string>${LABEL}</string>`,
    `  <key>UserName</key><string>${USER}</string>`,
    '  <key>ProgramArguments</key>',
    '  <array>',
    ...words,
    '  </array>',
    '  <key>RunAtLoad</key><true/>',
    '  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>',
    '  <key>ThrottleInterval</key><integer>5</integer>',
    '  <key>ExitTimeOut</key><integer>30</integer>',
    '  <key>Umask</key><integer>63</integer>',
    '  <key>SoftResourceLimits</key><dict><key>NumberOfFiles</key><integer>65536</integer></dict>',
    `  <key>StandardOutPath</key><string>${LOG}</string>`,
    `  <key>StandardErrorPath</key><string>${LOG}</string>`,
    '</dict>',
    '</plist>',
    '',
  ].join('\n');
}

function readState(output: string | null): ServiceState {
  // The first line of each name is about the service itself.
  const lines = (output ?? '').split('\n').map((line) => line.trim().split(' = ', 2));
  const read = (name: string) => lines.find(([first]) => first === name)?.[1];
  const state = read('state') ?? 'unknown';
  const id = read('pid');
  return {
    installed: output !== null,
    running: state === 'running',
    state,
    process_id: id === undefined ? null : Number(id),
  };
}
