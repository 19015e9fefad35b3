import type { LicenseId } from '@berth/server/core/nouns/license';
import type { Wanted } from './fair-line.ts';
import { type HistoryCommand, inHistory } from './history-command.ts';
import { asked, HAND_ON, named, sayWho, sendLeave, type Who } from './lending-commands.ts';

/** `forMs`: how long the request waits; 0: it does no longer. */
function waitOf(forMs: number) {
  return { wait: { mode: forMs === 0 ? 'last' : 'stay', forMs } } as const;
}

export function waitInLine(who: Who, forMs: number): HistoryCommand {
  const { user, licenseId, at, instance } = who;
  return inHistory({
    title: `wait ${sayWho(who)} for ${forMs} ms`,
    act: async ({ exam }) => [
      await exam.register(user, { licenseId, ...asked(at), ...named(instance), ...waitOf(forMs) }),
    ],
    expect: (model) => [model.register(user, licenseId, at, instance, { forMs })],
  });
}

export function waitForFeature(who: Who, forMs: number): HistoryCommand {
  const { user, licenseId, instance } = who;
  const facts = { licenseId, product: 'cad', ...named(instance), ...waitOf(forMs) };
  return inHistory({
    title: `wait for the feature ${sayWho(who)} for ${forMs} ms`,
    act: async ({ exam }) => [await exam.registerFeature(user, facts)],
    expect: (model) => [model.registerFeature(user, licenseId, null, instance, { forMs })],
  });
}

/** They are answered at once, and their places are kept for a while. In one batch. */
export function repeatCall(callers: readonly Who[], forMs: number): HistoryCommand {
  const wait = { mode: 'repeat', forMs } as const;
  return inHistory({
    title: `repeat ${callers.map(sayWho).join(', ')}, kept for ${forMs} ms`,
    act: ({ exam }) =>
      Promise.all(
        callers.map(({ user, licenseId, at, instance }) =>
          exam.register(user, { licenseId, product: 'cad', ...asked(at), ...named(instance), wait }),
        ),
      ),
    expect: (model) =>
      callers.map(({ user, licenseId, at, instance }) =>
        model.register(user, licenseId, at, instance, { forMs, repeats: true }),
      ),
  });
}

export function repeatCallForFeature(callers: readonly Who[], forMs: number): HistoryCommand {
  const wait = { mode: 'repeat', forMs } as const;
  return inHistory({
    title: `repeat for the feature ${callers.map(sayWho).join(', ')}, kept for ${forMs} ms`,
    act: ({ exam }) =>
      Promise.all(
        callers.map(({ user, licenseId, instance }) =>
          exam.registerFeature(user, { licenseId, product: 'cad', ...named(instance), wait }),
        ),
      ),
    expect: (model) =>
      callers.map(({ user, licenseId, instance }) =>
        model.registerFeature(user, licenseId, null, instance, { forMs, repeats: true }),
      ),
  });
}

/** Many come at once and wait, in one batch. */
export function waitTogether(users: readonly string[], forMs: number): HistoryCommand {
  const facts = { product: 'cad', ...waitOf(forMs) };
  return inHistory({
    title: `wait at once ${users.join(', ')} for ${forMs} ms`,
    act: ({ exam }) => Promise.all(users.map((user) => exam.register(user, facts))),
    expect: (model) => users.map((user) => model.register(user, null, undefined, null, { forMs })),
  });
}

/** Many come at once, take a slot of the license and wait for the feature, in one batch. */
export function waitForFeatureTogether(
  users: readonly string[],
  licenseId: LicenseId,
  forMs: number,
): HistoryCommand {
  const facts = { product: 'cad', licenseId };
  return inHistory({
    title: `wait at once for the feature on ${licenseId} ${users.join(', ')} for ${forMs} ms`,
    act: ({ exam }) =>
      Promise.all(
        users.flatMap((user) => [
          exam.register(user, facts),
          exam.registerFeature(user, { ...facts, ...waitOf(forMs) }),
        ]),
      ),
    expect: (model) =>
      users.flatMap((user) => [
        model.register(user, licenseId),
        model.registerFeature(user, licenseId, null, null, { forMs }),
      ]),
  });
}

export function leaveLine(wanted: Wanted, user: string): HistoryCommand {
  return inHistory({
    title: `${user} leaves the line${wanted === '' ? '' : ' for the feature'}`,
    takesBack: true,
    act: async ({ exam }) => [await sendLeave(exam, wanted, user)],
    expect: (model) => [model.leaveLine(wanted, user)],
  });
}

/** What a server does every second while somebody waits. */
export function handOn(): HistoryCommand {
  return inHistory({
    title: 'hand on',
    act: async ({ exam }) => {
      await exam.execute(HAND_ON);
      return [];
    },
    expect: (model) => {
      model.handOn();
      return [];
    },
  });
}
