import assert from 'node:assert/strict';
import type { Command } from '@berth/server/core/command';
import { plus } from '@berth/server/core/nouns/instant';
import type { LicenseId } from '@berth/server/core/nouns/license';
import type { Outcome } from '@berth/server/core/outcome';
import type { RuleSet } from '@berth/server/core/rules/rule-set';
import { from, setRules } from '../../packages/server/test/core/examples.ts';
import type { ExamStore } from '../../packages/server/test/store/exam/exam-store.ts';
import type { Wanted } from './fair-line.ts';
import { type HistoryCommand, inHistory } from './history-command.ts';
import type { Expected, Facts } from './licenses-model.ts';
import type { Place } from './naive-rules.ts';
import type { WaitingModel } from './waiting-model.ts';

export interface Who {
  readonly user: string;
  readonly licenseId: LicenseId | null;
  /** Where the request comes from. */
  readonly at?: Place;
  /** The program that asks; `null`: one without a name. */
  readonly instance: string | null;
}

export const sayWho = ({ user, licenseId, at, instance }: Who) =>
  `${user}${sayInstance(instance)}${licenseId === null ? '' : ` on ${licenseId}`}${sayPlace(at)}`;

function sayInstance(instance: string | null): string {
  return instance === null ? '' : ` (${instance})`;
}

function sayPlace(at: Place | undefined): string {
  return at === undefined ? '' : ` at ${at.hostname} ${at.address}`;
}

/** What a command says of it. */
export function asked(at: Place | undefined) {
  if (at === undefined) return {};
  const { hostname, address } = at;
  return { host: { hostname, address: null, info: null }, ...(address === null ? {} : from(address)) };
}

export function named(instance: string | null) {
  return instance === null ? {} : { instance };
}

export function register(who: Who): HistoryCommand {
  const { user, licenseId, at, instance } = who;
  return inHistory({
    title: `register ${sayWho(who)}`,
    act: async ({ exam }) => [await exam.register(user, { licenseId, ...asked(at), ...named(instance) })],
    expect: (model) => [model.register(user, licenseId, at, instance)],
  });
}

/** A program joins a slot, or leaves it. */
interface ProgramStep extends Who {
  readonly leaves: boolean;
}

/** Programs come and go, all in one batch. */
export function comeAndGo(steps: readonly ProgramStep[]): HistoryCommand {
  return inHistory({
    title: steps.map((step) => `${sayWho(step)} ${step.leaves ? 'leaves' : 'comes'}`).join(', '),
    takesBack: steps.some(({ leaves }) => leaves),
    act: ({ exam }) =>
      Promise.all(
        steps.map(({ user, licenseId, at, instance, leaves }) => {
          const facts = { licenseId, product: 'cad', ...named(instance) };
          return leaves ? exam.unregister(user, facts) : exam.register(user, { ...facts, ...asked(at) });
        }),
      ),
    expect: (model) =>
      steps.map(({ user, licenseId, at, instance, leaves }) =>
        leaves ? model.unregister(user, licenseId, instance) : model.register(user, licenseId, at, instance),
      ),
  });
}

/** Several at once, in one batch. */
export function registerCrowd(users: readonly string[], at?: Place): HistoryCommand {
  const facts = { product: 'cad', ...asked(at) };
  const names = users.length > 8 ? `${users.length} users` : users.join(', ');
  return inHistory({
    title: `register at once ${names}${sayPlace(at)}`,
    act: ({ exam }) => Promise.all(users.map((user) => exam.register(user, facts))),
    expect: (model) => users.map((user) => model.register(user, null, at)),
  });
}

/** `until`: milliseconds from now, or a word. */
export function borrow(who: Who, until: number | 'longest' | 'unreadable'): HistoryCommand {
  const { user, licenseId, at, instance } = who;
  const wanted = ({ now }: WaitingModel) => (typeof until === 'number' ? plus(now, until) : until);
  return inHistory({
    title: `borrow ${sayWho(who)} until ${until}`,
    // Whoever has to borrow from another license gives the slot back that they held before.
    takesBack: licenseId === null,
    act: async ({ exam }, model) => [
      await exam.borrow(user, wanted(model), { licenseId, ...asked(at), ...named(instance) }),
    ],
    expect: (model) => [model.borrow(user, licenseId, wanted(model), at, instance)],
  });
}

/** A program leaves, or without a name the user gives the slot back. */
export function unregister(who: Who): HistoryCommand {
  const { user, licenseId, instance } = who;
  return inHistory({
    title: `unregister ${sayWho(who)}`,
    takesBack: true,
    act: async ({ exam }) => [await exam.unregister(user, { licenseId, ...named(instance) })],
    expect: (model) => [model.unregister(user, licenseId, instance)],
  });
}

export function takeBack(kind: 'release' | 'recall', who: Who): HistoryCommand {
  const { user, licenseId } = who;
  return inHistory({
    title: `${kind} ${sayWho(who)}`,
    takesBack: true,
    act: async ({ exam }) => [await exam[kind](user, { licenseId })],
    expect: (model) => [model[kind](user, licenseId)],
  });
}

export function releaseAll(licenseId: LicenseId): HistoryCommand {
  return inHistory({
    title: `release all of ${licenseId}`,
    takesBack: true,
    act: async ({ exam }) => [await exam.execute({ kind: 'release_all', licenseId, by: 'admin' })],
    expect: (model) => [model.releaseAll(licenseId)],
  });
}

/** `validForMs`: from now; `null` for ever. */
export function change(
  id: LicenseId,
  { validForMs, ...limits }: Omit<Facts, 'validUntil'> & { readonly validForMs: number | null },
): HistoryCommand {
  const { slots, enabled, maxBorrowHours } = limits;
  const factsAt = ({ now }: WaitingModel) => ({
    ...limits,
    validUntil: validForMs === null ? null : plus(now, validForMs),
  });
  return inHistory({
    title:
      `license ${id} gets ${slots} slots${enabled ? '' : ', disabled'}, valid for ${validForMs} ms, ` +
      `to be borrowed for ${maxBorrowHours} h`,
    act: async ({ exam }, model) => {
      const license = { ...(await findLicense(exam, id)), ...factsAt(model) };
      return [await besideLine(exam, model, { kind: 'install_license', license, by: 'admin' })];
    },
    expect: (model) => [inLine(model, () => model.change(id, factsAt(model)))],
  });
}

/**
 * Where servers share the data, a command on the catalogue or the rules does not lock what would be lent:
 * it is handed on by the next command.
 */
async function besideLine(exam: ExamStore, { line }: WaitingModel, command: Command): Promise<Outcome> {
  if (line.length === 0) return exam.execute(command);
  await exam.execute(HAND_ON);
  const outcome = await exam.execute(command);
  await exam.execute(HAND_ON);
  return outcome;
}

function inLine(model: WaitingModel, act: () => Expected): Expected {
  model.handOn();
  const expected = act();
  model.handOn();
  return expected;
}

export const HAND_ON = { kind: 'hand_on', product: 'cad' } as const;

export function sendLeave(exam: ExamStore, feature: Wanted, user: string): Promise<Outcome> {
  return exam.execute({ kind: 'leave_line', product: 'cad', feature, user });
}

/** A server ends all connections on which somebody waits before it goes. */
async function sendAllAway(exam: ExamStore, { line }: WaitingModel): Promise<void> {
  for (const { wanted, user } of line) await sendLeave(exam, wanted, user);
}

async function findLicense(exam: ExamStore, id: LicenseId) {
  const record = (await exam.listLicenses()).find(({ license }) => license.id === id);
  assert.ok(record);
  return record.license;
}

/** Lets time pass, as much as the model says. */
export function tickBy(title: string, millisOf: (model: WaitingModel) => number): HistoryCommand {
  return inHistory({
    title,
    act: async ({ exam }, model) => {
      exam.clock.advance(millisOf(model));
      return [];
    },
    expect: (model) => {
      model.tick(millisOf(model));
      return [];
    },
  });
}

export function tick(millis: number): HistoryCommand {
  return tickBy(`tick ${millis} ms`, () => millis);
}

/** To the instant at which the next slot ends, or a millisecond beside it. */
export function tickToEnd(besideMs: -1 | 0 | 1): HistoryCommand {
  return tickBy(`tick to the next end ${besideMs}`, (model) =>
    Math.max(0, (model.nextEnd() ?? model.now) - model.now + besideMs),
  );
}

/** Rules that are in force from now on. */
export function rule(rules: RuleSet): HistoryCommand {
  return inHistory({
    title: `rules ${JSON.stringify({ deny: rules.deny.users, ...rules.products.cad })}`,
    act: async ({ exam }, model) => [await besideLine(exam, model, setRules(rules))],
    expect: (model) => [inLine(model, () => model.rule(rules))],
  });
}

/** Housekeeping, which nothing may notice. */
export function sweep(licenseId: LicenseId): HistoryCommand {
  return inHistory({
    title: `sweep ${licenseId}`,
    act: async ({ exam }) => {
      await exam.store.keepClock();
      await exam.execute({ kind: 'collect', licenseId });
      return [];
    },
    expect: (model) => {
      model.sweep();
      return [];
    },
  });
}

/** Closed and opened, or crashed. Nobody finds their place again. */
export function restart(again: 'restart' | 'crash', downMs: number): HistoryCommand {
  return inHistory({
    title: `${again}, away for ${downMs} ms`,
    takesBack: true,
    act: async ({ exam }, model) => {
      await sendAllAway(exam, model);
      await startAgain(exam, again, downMs);
      if (model.line.length > 0) await exam.execute(HAND_ON);
      return [];
    },
    expect: (model) => {
      model.restart(downMs);
      return [];
    },
  });
}

/**
 * The same within half a minute. Where servers share the data another one may have been there all the time,
 * so that nothing is prolonged: nobody notices it. A server that has the data alone would prolong; it stays.
 */
export function takeOver(again: 'restart' | 'crash', downMs: number): HistoryCommand {
  return inHistory({
    title: `${again} where data is shared, away for ${downMs} ms`,
    takesBack: true,
    act: async ({ exam, servers }, model) => {
      await sendAllAway(exam, model);
      if (servers === 'several') await startAgain(exam, again, downMs);
      else exam.clock.advance(downMs);
      return [];
    },
    expect: (model) => {
      model.sendAllAway();
      model.tick(downMs);
      return [];
    },
  });
}

/** A server that runs keeps the clock every second, so it has done so shortly before. */
async function startAgain(exam: ExamStore, again: 'restart' | 'crash', downMs: number): Promise<void> {
  await exam.store.keepClock();
  await exam[again](() => exam.clock.advance(downMs));
}

/** From now on another server on the same data is asked, where there can be several; nobody notices it. */
export function turnToOtherServer(): HistoryCommand {
  return inHistory({
    title: 'turn to another server',
    takesBack: true,
    act: async ({ exam, turn }, model) => {
      await sendAllAway(exam, model);
      await turn();
      return [];
    },
    expect: (model) => {
      model.sendAllAway();
      return [];
    },
  });
}
