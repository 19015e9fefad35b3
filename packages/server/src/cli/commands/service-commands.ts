import { existsSync, readFileSync } from 'node:fs';
import { formatFacts } from '@berth/shell/console/console-text';
import type { CallOf } from '@berth/shell/console/hints';
import type { ConfigSources } from '../../config.ts';
import { type Command, defineCommand, type LocalContext } from '../command.ts';
import { InputError } from '../read-secrets.ts';
import { applyPlan, isWritten, readOutput, sayStep } from '../service/change-machine.ts';
import { describeService, findManager } from '../service/plan-service.ts';
import type { ServiceManager, ServicePlan, ServiceState } from '../service/service-manager.ts';

/** Running the server as a service of the operating system. */
export const SERVICE_COMMANDS: readonly Command[] = [
  defineCommand({
    words: 'service install',
    usage: '[--dry-run]',
    about: 'run the server as a service that starts with the machine; flags for settings become its own',
    local: async (context) => answer(install(context)),
    show: showInstalled,
    isFailure: ({ problem }) => problem !== null,
  }),
  defineCommand({
    words: 'service uninstall',
    usage: '[--dry-run]',
    about: 'stop the service and remove it; the data stays',
    local: async (context) => answer(uninstall(context)),
    show: showUninstalled,
  }),
  defineCommand({
    words: 'service status',
    about: 'show whether the service is installed and runs',
    local: async () => answer(findState()),
    show: showState,
    isFailure: ({ running }) => !running,
  }),
];

const answer = <Body>(body: Body) => ({ ok: true, body }) as const;

interface Done {
  readonly dry_run: boolean;
  /** Whether anything had to be done. */
  readonly changed: boolean;
  readonly data: string;
  readonly plan: ServicePlan;
}

interface Installed extends Done {
  /** Why it cannot be installed; only --dry-run continues anyway. */
  readonly problem: string | null;
  readonly manager: string;
  readonly user: string;
  readonly log: string;
}

function install({ config, flags, self }: LocalContext): Installed {
  const manager = findManager(process.platform, process.env);
  const isDry = flags['dry-run'] === true;
  if (!isDry) requirePower(manager, 'install');
  const facts = describeService({ self, flags: flags as ConfigSources['flags'], config });
  const problem = explainPaths(manager, [facts.program[0] ?? '', facts.data, ...facts.folders]);
  if (problem !== null && !isDry) throw new InputError(problem);
  const plan = manager.install(facts);
  const changed = isDry || !isWritten(plan.written) || !readState(manager).running;
  if (!isDry && changed) applyPlan(plan);
  const { name, user, log } = manager;
  return { dry_run: isDry, changed, data: facts.data, plan, problem, manager: name, user, log };
}

function uninstall({ config, flags }: LocalContext): Done {
  const manager = findManager(process.platform, process.env);
  const isDry = flags['dry-run'] === true;
  if (!isDry) requirePower(manager, 'uninstall');
  const data = readData(manager, manager.definition) ?? config.data;
  const plan = manager.uninstall();
  const changed = isDry || existsSync(manager.definition);
  if (!isDry && changed) applyPlan(plan);
  return { dry_run: isDry, changed, data, plan };
}

/** The installed definition knows where the data is, whatever the flags of this command say. */
function readData(manager: ServiceManager, definition: string): string | null {
  if (!existsSync(definition)) return null;
  const isUtf16 = process.platform === 'win32';
  return manager.findData(readFileSync(definition, isUtf16 ? 'utf16le' : 'utf8'));
}

function explainPaths(manager: ServiceManager, paths: readonly string[]): string | null {
  const problem = paths.map((path) => manager.explainPath(path)).find((found) => found !== null);
  if (problem === undefined) return null;
  return (
    `${problem} Put the executable into /usr/local/bin or a clone into /opt/berth, choose a data folder ` +
    'such as /var/lib/berth with --data or in berth.yaml, and run the command again.'
  );
}

const BOOTED = '/run/systemd/system';

/** Both can be done by root only, and by systemd only where it runs. */
function requirePower({ name }: ServiceManager, verb: string): void {
  if (name === 'systemd' && !existsSync(BOOTED)) {
    throw new InputError(
      'systemd does not run on this machine. In a container, run "berth serve" (docs/install.md); ' +
        'elsewhere let your service manager run it. ' +
        `"berth service ${verb} --dry-run" shows what systemd would get.`,
    );
  }
  if ((process.getuid?.() ?? 0) === 0) return;
  throw new InputError(
    `Only root can ${verb} a service. Run the command again with sudo. ` +
      `"berth service ${verb} --dry-run" shows what it would do.`,
  );
}

interface ServiceAnswer extends ServiceState {
  readonly manager: string;
  readonly definition: string;
  readonly data: string | null;
}

function findState(): ServiceAnswer {
  const manager = findManager(process.platform, process.env);
  const state = readState(manager);
  const { definition = manager.definition } = state;
  return { manager: manager.name, definition, data: readData(manager, definition), ...state };
}

function readState(manager: ServiceManager): ServiceState {
  return manager.readState(readOutput(manager.query));
}

function showState(state: ServiceAnswer, callOf: CallOf): string {
  if (!state.installed) return `The service is not installed. "${callOf('service install')}" installs it.`;
  const { manager, definition, data, state: said, process_id } = state;
  return formatFacts({ manager, state: said, 'process id': process_id, 'data folder': data, definition });
}

function showPlan({ before, written, removed, after }: ServicePlan): string {
  return [
    ...before.map((step) => `Run: ${sayStep(step)}`),
    ...written.map(({ path, text }) => `Write ${path}:\n\n${indent(text.replaceAll('\r\n', '\n'))}\n`),
    ...removed.map((path) => `Remove: ${path}`),
    ...after.map((step) => `Run: ${sayStep(step)}`),
  ].join('\n');
}

function indent(text: string): string {
  return text.trimEnd().replace(/^(?=.)/gm, '    ');
}

function showInstalled(done: Installed, callOf: CallOf): string {
  const { manager, user, log, data, plan } = done;
  const problem = done.problem === null ? '' : `\n${done.problem}`;
  if (done.dry_run) return `${showPlan(plan)}\n\nNothing was changed.${problem}`;
  if (!done.changed) return 'The service is already installed, and runs. Nothing was changed.';
  return [
    `Berth runs as a service (${manager}), as user ${user}, with its data in ${data}.`,
    `It starts with the machine. ${log}`,
    `"${callOf('user password admin')}" sets the password of the first administrator.`,
  ].join('\n');
}

function showUninstalled({ dry_run: isDry, changed, data, plan }: Done): string {
  const kept = `The data stays in ${data}.`;
  if (isDry) return `${showPlan(plan)}\n\nNothing was changed. ${kept}`;
  return changed ? `The service was stopped and removed. ${kept}` : 'The service is not installed.';
}
