import { findBetween, type ServiceFacts, type ServiceManager, type ServiceState } from './service-manager.ts';

const USER = 'berth';
const UNIT = 'berth.service';
const UNIT_FILE = `/etc/systemd/system/${UNIT}`;
const USER_FILE = '/etc/sysusers.d/berth.conf';
const STATE = '/var/lib/';

/**
 * Linux. The user is a permanent one: certificates, backups and settings can be given to it, and the data
 * keeps its owner. A `DynamicUser` would have none of that, and its data would be in another folder.
 */
export const SYSTEMD: ServiceManager = {
  name: 'systemd',
  user: USER,
  definition: UNIT_FILE,
  log: '"journalctl -u berth" shows its log.',
  explainPath,
  install: (facts) => ({
    before: [],
    written: [
      { path: USER_FILE, text: `u ${USER} - "Berth license server" ${STATE}berth /usr/sbin/nologin\n` },
      { path: UNIT_FILE, text: writeUnit(facts) },
    ],
    removed: [],
    after: [
      { words: ['systemd-sysusers', USER_FILE] },
      ...foldersOf(facts).flatMap((folder) => [
        { words: ['install', '-d', '-m', '700', '-o', USER, '-g', USER, folder] },
        { words: ['chown', '-R', '--from=root', `${USER}:${USER}`, folder] },
      ]),
      { words: ['systemctl', 'daemon-reload'] },
      { words: ['systemctl', 'enable', UNIT] },
      { words: ['systemctl', 'restart', UNIT] },
    ],
  }),
  uninstall: () => ({
    before: [{ words: ['systemctl', 'disable', '--now', UNIT] }],
    written: [],
    removed: [UNIT_FILE, USER_FILE],
    after: [
      { words: ['systemctl', 'daemon-reload'] },
      { words: ['systemctl', 'reset-failed', UNIT], mayFail: true },
    ],
  }),
  findData: (unit) => {
    const word = findBetween(unit, ' --data ', '\n');
    const text = word?.startsWith('"') ? word.slice(1, -1).replace(/\\(.)/g, '$1') : word;
    return text?.replaceAll('%%', '%').replaceAll('$$', () => '$') ?? null;
  },
  query: ['systemctl', 'show', UNIT, '--property=LoadState,ActiveState,SubState,MainPID,FragmentPath'],
  readState,
};

/** What `ProtectHome` and `PrivateTmp` hide. */
const HIDDEN = ['/home', '/root', '/run/user', '/tmp', '/var/tmp'];

function explainPath(path: string): string | null {
  const hidden = HIDDEN.find((folder) => `${path}/`.startsWith(`${folder}/`));
  if (hidden !== undefined)
    return `The service cannot use ${path}: everything in ${hidden} is hidden from it.`;
  return /^\/[^/]*$/.test(path) ? `The service cannot use ${path}: it is a folder of the system.` : null;
}

/** Ports below this one need a right of their own. */
const FIRST_FREE_PORT = 1024;

const WRITTEN_BY_COMMAND = '"berth service install" writes this file, and replaces it.';

/** `author` says who replaces the file. */
export function writeUnit(facts: ServiceFacts, author = WRITTEN_BY_COMMAND): string {
  const { program, args, data, port } = facts;
  const words = [...program, 'serve', ...args].map(quoteArgument);
  return [
    `# ${author} Make changes with "systemctl edit berth".`,
    '[Unit]',
    'Description=Berth license server',
    'Wants=network-online.target',
    'After=network-online.target time-sync.target postgresql.service',
    '',
    '[Service]',
    '# The server reports that it is ready through systemd-notify, which is a process of its own.',
    'Type=notify',
    'NotifyAccess=all',
    `ExecStart=${words.join(' ')}`,
    `WorkingDirectory=${escapePercent(data)}`,
    `User=${USER}`,
    `Group=${USER}`,
    ...writeFolders(facts),
    'UMask=0077',
    '',
    '# Status 2 means that the settings are wrong; all others may pass, such as a database that is down.',
    'Restart=on-failure',
    'RestartPreventExitStatus=2',
    'RestartSec=5',
    '# An upgrade of large data takes minutes; a stop waits 10 seconds for requests.',
    'TimeoutStartSec=15min',
    'TimeoutStopSec=30',
    'KillMode=mixed',
    'LimitNOFILE=131072',
    '',
    ...HARDENING,
    ...(port > 0 && port < FIRST_FREE_PORT ? LOW_PORT : NO_RIGHTS),
    '',
    '[Install]',
    'WantedBy=multi-user.target',
    '',
  ].join('\n');
}

const HARDENING = [
  '# MemoryDenyWriteExecute is missing because the JavaScript engine compiles to memory, ProtectProc because',
  '# the hardware id depends on whether process 1 belongs to a container.',
  'NoNewPrivileges=yes',
  'ProtectSystem=strict',
  'ProtectHome=yes',
  'PrivateTmp=yes',
  'PrivateDevices=yes',
  'PrivateMounts=yes',
  'DevicePolicy=closed',
  'ProtectClock=yes',
  'ProtectControlGroups=yes',
  'ProtectHostname=yes',
  'ProtectKernelLogs=yes',
  'ProtectKernelModules=yes',
  'ProtectKernelTunables=yes',
  'KeyringMode=private',
  'LockPersonality=yes',
  'RemoveIPC=yes',
  '# Netlink tells the addresses of this machine.',
  'RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK',
  'RestrictNamespaces=yes',
  'RestrictRealtime=yes',
  'RestrictSUIDSGID=yes',
  'SystemCallArchitectures=native',
  'SystemCallFilter=@system-service',
  'SystemCallFilter=~@privileged @resources',
  'SystemCallErrorNumber=EPERM',
];

/** A user namespace would take the right away again. */
const LOW_PORT = ['CapabilityBoundingSet=CAP_NET_BIND_SERVICE', 'AmbientCapabilities=CAP_NET_BIND_SERVICE'];
const NO_RIGHTS = ['CapabilityBoundingSet=', 'AmbientCapabilities=', 'PrivateUsers=yes'];

/** systemd itself creates folders in /var/lib, and gives them to the user with all that is in them. */
function writeFolders(facts: ServiceFacts): readonly string[] {
  const { data, folders } = facts;
  const state = [data, ...folders].filter(isState).map((folder) => quote(folder.slice(STATE.length)));
  const others = foldersOf(facts).map(quote);
  return [
    ...(state.length === 0 ? [] : [`StateDirectory=${state.join(' ')}`, 'StateDirectoryMode=0700']),
    ...(others.length === 0 ? [] : [`ReadWritePaths=${others.join(' ')}`]),
  ];
}

/** The folders that systemd does not create. */
function foldersOf({ data, folders }: ServiceFacts): readonly string[] {
  return [data, ...folders].filter((folder) => !isState(folder));
}

function isState(folder: string): boolean {
  return folder.startsWith(STATE) && folder.length > STATE.length;
}

/** A percent sign begins a specifier. */
function escapePercent(text: string): string {
  return text.replaceAll('%', '%%');
}

function quote(word: string): string {
  const escaped = escapePercent(word);
  return /^[\w/.@%+=:,-]+$/.test(escaped) ? escaped : `"${escaped.replace(/[\\"]/g, '\\$&')}"`;
}

/** A dollar sign begins a variable, in command lines only. */
function quoteArgument(word: string): string {
  return quote(word).replaceAll('$', '$$$$');
}

function readState(output: string | null): ServiceState {
  const facts = new Map((output ?? '').split('\n').map((line) => line.split('=', 2) as [string, string]));
  const state = facts.get('ActiveState') ?? 'unknown';
  const id = Number(facts.get('MainPID') ?? 0);
  const definition = facts.get('FragmentPath') ?? '';
  return {
    installed: facts.get('LoadState') === 'loaded',
    running: state === 'active',
    state: `${state} (${facts.get('SubState') ?? 'unknown'})`,
    process_id: id > 0 ? id : null,
    ...(definition === '' ? {} : { definition }),
  };
}
