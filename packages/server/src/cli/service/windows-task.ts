import { win32 } from 'node:path';
import {
  escapeXml,
  findBetween,
  type ServiceFacts,
  type ServiceManager,
  type ServiceState,
  unescapeXml,
} from './service-manager.ts';

const TASK = 'Berth';
/** The same in every language of Windows: the local service, its administrators and the system. */
const LOCAL_SERVICE = 'S-1-5-19';
const OWNERS = [LOCAL_SERVICE, 'S-1-5-32-544', 'S-1-5-18'];
const GRANTED = OWNERS.flatMap((id) => ['/grant:r', `*${id}:(OI)(CI)F`]);

/**
 * Windows. A service would have to speak with the service control manager, which Node cannot; a task that
 * starts with the machine needs no helper program.
 */
export function createWindowsTask(programData: string): ServiceManager {
  const definition = win32.join(programData, 'Berth', 'task.xml');
  return {
    name: 'a scheduled task',
    user: 'NT AUTHORITY\\LOCAL SERVICE',
    definition,
    log: 'Windows keeps no log of tasks; "berth audit list --system" shows starts and stops.',
    explainPath: (path) =>
      /^[a-z]:\\Users\\/i.test(path)
        ? `A service must not depend on ${path}, which belongs to a user.`
        : null,
    install: (facts) => ({
      before: [],
      written: [{ path: definition, text: writeTask(facts), encoding: 'utf16le' }],
      removed: [],
      after: [
        ...[facts.data, ...facts.folders].flatMap((folder) => [
          { words: ['cmd', '/c', 'mkdir', folder], mayFail: true },
          { words: ['icacls', folder, '/inheritance:r', ...GRANTED] },
        ]),
        { words: ['schtasks', '/end', '/tn', TASK], mayFail: true },
        { words: ['schtasks', '/create', '/tn', TASK, '/xml', definition, '/f'] },
        { words: ['schtasks', '/run', '/tn', TASK] },
      ],
    }),
    uninstall: () => ({
      before: [
        { words: ['schtasks', '/end', '/tn', TASK], mayFail: true },
        { words: ['schtasks', '/delete', '/tn', TASK, '/f'] },
      ],
      written: [],
      removed: [definition],
      after: [],
    }),
    findData: (task) => {
      const data = unescapeXml(findBetween(task, ' --data ', '</Arguments>') ?? '');
      return data === '' ? null : data.replaceAll('"', '');
    },
    query: ['powershell', '-NoProfile', '-Command', `(Get-ScheduledTask -TaskName ${TASK}).State`],
    readState,
  };
}

function writeTask({ program: [file = '', ...own], args, data }: ServiceFacts): string {
  const words = [...own, 'serve', ...args].map(quote).join(' ');
  return [
    '<?xml version="1.0" encoding="UTF-16"?>',
    '<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">',
    '  <RegistrationInfo><Description>Berth license server</Description></RegistrationInfo>',
    '  <Triggers><BootTrigger><Enabled>true</Enabled></BootTrigger></Triggers>',
    '  <Principals>',
    '    <Principal id="Author">',
    `      <UserId>${LOCAL_SERVICE}</UserId><RunLevel>LeastPrivilege</RunLevel>`,
    '    </Principal>',
    '  </Principals>',
    '  <Settings>',
    '    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>',
    '    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>',
    '    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>',
    '    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>',
    '    <RestartOnFailure><Interval>PT1M</Interval><Count>999</Count></RestartOnFailure>',
    '  </Settings>',
    '  <Actions Context="Author">',
    '    <Exec>',
    `      <Command>${escapeXml(quote(file))}</Command>`,
    `      <Arguments>${escapeXml(words)}</Arguments>`,
    `      <WorkingDirectory>${escapeXml(data)}</WorkingDirectory>`,
    '    </Exec>',
    '  </Actions>',
    '</Task>',
    '',
  ].join('\r\n');
}

/** A path cannot contain quotation marks; Berth resolves paths, so none ends with a backslash either. */
function quote(word: string): string {
  return /^[\w\\/.:@%+=,-]+$/.test(word) ? word : `"${word}"`;
}

function readState(output: string | null): ServiceState {
  const state = output?.trim() ?? '';
  return {
    installed: state !== '',
    running: state === 'Running',
    state: state || 'unknown',
    process_id: null,
  };
}
