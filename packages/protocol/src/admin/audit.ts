import { z } from 'zod';
import { DATE_PATTERN } from '../api/lending.ts';
import { described, name, positiveInteger, strictLicenseId, userName } from '../fields.ts';
import { MOMENT_FORMS } from '../moment.ts';
import type { Operations } from './operation.ts';

const systemChain = described(
  z.enum(['system'], { error: 'must be "system"' }).optional(),
  'The chain of events without a license.',
);

const auditQuery = z.object({
  license_id: strictLicenseId,
  chain: systemChain,
  license: described(name, 'The id of a license, or a product.'),
  since: described(name, `From when on: ${MOMENT_FORMS}; UTC.`),
  until: described(name, 'Until when, in the same forms. A day is included, an instant is not.'),
  user: described(userName, 'Whom the events are about, or who caused them.'),
  search: described(
    name,
    'A part of a name that it mentions: a user, account, host, address or bar. Ignores case.',
  ),
  kind: described(name, 'One kind of events, or up to five with commas between them.'),
  before: described(positiveInteger, 'Continue before this link.'),
  limit: described(
    positiveInteger,
    'How many events; a page ends with the commit that reaches it. Up to 1000.',
  ),
});

const eventObject = z
  .looseObject({
    seq: described(z.int(), 'The number of its link.'),
    at: described(z.string(), 'When it happened, UTC.'),
    kind: described(z.string(), 'What happened.'),
    license_id: described(z.int().nullable(), 'The license it is about; null: the system.'),
  })
  .meta({ id: 'AuditEvent', description: 'An event. Its other fields depend on its kind.' });

const problemObject = z.object({
  chain: described(z.int().nullable(), 'The id of a license, 0 for the system; null: all chains together.'),
  n: described(z.int(), 'The number of the link in its chain.'),
  problem: described(z.string(), 'What is wrong with it.'),
});

const thinBody = z
  .object({
    before: z
      .string({ error: 'must be a date' })
      .optional()
      .meta({ pattern: DATE_PATTERN, description: 'The date, as in `borrow`.' }),
    license_id: strictLicenseId,
    chain: systemChain,
  })
  .meta({
    not: { required: ['license_id', 'chain'] },
    description: 'Without a license and a chain, of the whole log.',
    examples: [{ before: '2026-01-01' }],
  });

export type AuditEvent = z.output<typeof eventObject>;
export type AuditVerdict = z.output<(typeof AUDIT_API)['GET /api/admin/audit/verify']['answer']>;

export const AUDIT_API = {
  'GET /api/admin/audit': {
    query: auditQuery,
    answer: z.object({
      events: described(z.array(eventObject), 'A page. A search may leave it empty and still go on.'),
      next_before: described(z.int().nullable(), 'Where the next page begins; null if there is none.'),
    }),
  },
  'GET /api/admin/audit/verify': {
    answer: z.object({
      ok: described(z.boolean(), 'Whether the log is intact.'),
      chains: described(z.int(), 'How many chains there are.'),
      links: described(z.int(), 'How many links there are.'),
      events: described(z.int(), 'How many events there are.'),
      thinned: described(z.int(), 'How many links were replaced with totals.'),
      problems: described(z.array(problemObject), 'What is wrong; empty if the log is intact.'),
    }),
  },
  'GET /api/admin/audit/export': { query: auditQuery.pick({ since: true, until: true }) },
  'POST /api/admin/audit/thin': {
    body: thinBody,
    required: ['before'],
    answer: z.object({ thinned_links: described(z.int(), 'How many links.') }),
  },
} as const satisfies Operations;
