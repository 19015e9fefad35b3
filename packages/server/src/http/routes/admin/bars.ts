import { hostText, name, told, userName } from '@berth/protocol/fields';
import { z } from 'zod';
import { BAR_KINDS, type BarKind } from '../../../core/rules/bar.ts';
import type { Bars } from '../../../services/access/bars.ts';
import { RequestError } from '../../../services/request-error.ts';
import { actorOf } from '../../access/caller.ts';
import { countReply } from '../../reply/count-reply.ts';
import { refusalReply } from '../../reply/problem.ts';
import { json } from '../../reply/reply.ts';
import { toWire } from '../../reply/to-wire.ts';
import { defineRoute, type Route } from '../../route.ts';

const patternFields = {
  kind: told(
    z.enum(BAR_KINDS, { error: `must be one of ${BAR_KINDS.join(', ')}` }).optional(),
    'What is barred.',
  ),
  pattern: told(name, 'A name in which * stands for any characters, or an address or a range.'),
};

const barFacts = {
  kind: told(z.enum(BAR_KINDS), 'What is barred.'),
  pattern: told(z.string(), 'A name in which * stands for any characters, or an address or a range.'),
  note: told(z.string().nullable(), 'Why, for administrators.'),
};

export const barObject = z
  .object({
    ...barFacts,
    by: told(z.string(), 'Who barred it.'),
    at: told(z.string(), 'When, UTC.'),
  })
  .meta({ id: 'Bar', description: 'A bar that is kept in the store, besides the rules file.' });

const barringObject = z
  .object({
    source: told(
      z.enum(['rules_file', 'bar']),
      'Whether it is in the rules file, or was added by a command.',
    ),
    ...barFacts,
  })
  .meta({ id: 'Barring', description: 'A rule or a bar that matches.' });

const barring = z.array(barringObject);

export function barRoutes(bars: Bars): readonly Route[] {
  return [listRoute(bars), addRoute(bars), removeRoute(bars), explainRoute(bars)];
}

function listRoute(bars: Bars): Route {
  return defineRoute({
    name: 'admin_bars',
    methods: ['GET'],
    paths: ['/api/admin/bars'],
    access: 'operator',
    summary: 'Who is barred besides the rules file',
    answer: { kind: 'json', schema: z.object({ bars: told(z.array(barObject), 'By kind and pattern.') }) },
    errors: [],
    handle: async () => json({ bars: (await bars.list()).map(toWire) }),
  });
}

function addRoute(bars: Bars): Route {
  return defineRoute({
    name: 'admin_bar_add',
    methods: ['POST'],
    paths: ['/api/admin/bars'],
    access: 'admin',
    summary: 'Bar a user, a host or an address; they keep slots that they hold until those end',
    body: z.object({ ...patternFields, note: told(hostText, 'Why, for administrators.') }).meta({
      required: ['kind', 'pattern'],
      examples: [{ kind: 'user', pattern: 'fay', note: 'left the company' }],
    }),
    answer: {
      kind: 'json',
      schema: z.object({ added: told(z.int(), '1, or 0 if it was barred before with the same note.') }),
    },
    errors: ['missing_parameters', 'too_many_bars'],
    handle: async ({ body, caller }) => {
      const bar = { ...requirePattern(body), note: body.note ?? null };
      return countReply(await bars.add(bar, actorOf(caller)), (added) => json({ added }));
    },
  });
}

function removeRoute(bars: Bars): Route {
  return defineRoute({
    name: 'admin_bar_remove',
    methods: ['POST'],
    paths: ['/api/admin/bars/remove'],
    access: 'admin',
    summary: 'Lift a bar; the rules file and other patterns may still bar them',
    body: z
      .object(patternFields)
      .meta({ required: ['kind', 'pattern'], examples: [{ kind: 'user', pattern: 'fay' }] }),
    answer: {
      kind: 'json',
      schema: z.object({
        removed: told(z.int(), '1, or 0 if there was no such bar.'),
        still_barred_by: told(barring, 'What else matches.'),
      }),
    },
    errors: ['missing_parameters'],
    handle: async ({ body, caller }) => {
      const bar = requirePattern(body);
      const outcome = await bars.remove(bar, actorOf(caller));
      if (outcome.kind === 'refused') return refusalReply(outcome);
      const still = await bars.explain({ [bar.kind]: bar.pattern });
      return json({ removed: outcome.kind === 'done' ? outcome.count : 0, still_barred_by: still });
    },
  });
}

function explainRoute(bars: Bars): Route {
  return defineRoute({
    name: 'admin_rules_why',
    methods: ['GET'],
    paths: ['/api/admin/rules/why'],
    access: 'operator',
    summary: 'Which rules and bars refuse a user, a host or an address',
    query: z.object({
      user: told(userName, 'A user.'),
      host: told(name, 'The name of a host.'),
      address: told(name, 'An address.'),
    }),
    answer: { kind: 'json', schema: z.object({ barred_by: told(barring, 'Empty if nothing bars them.') }) },
    errors: [],
    handle: async ({ query }) => json({ barred_by: await bars.explain(query) }),
  });
}

function requirePattern({ kind, pattern }: { kind?: BarKind | undefined; pattern?: string | undefined }) {
  if (kind !== undefined && pattern !== undefined) return { kind, pattern };
  const message = `Send a "kind" (${BAR_KINDS.join(', ')}) and a "pattern".`;
  throw new RequestError('missing_parameters', message);
}
