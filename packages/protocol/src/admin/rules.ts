import { z } from 'zod';
import { described, name, positiveInteger, userName, wholeNumber } from '../fields.ts';
import type { Operations } from './operation.ts';

/** The kinds of rules, as refusals and `expect` name them. */
export const RULE_KINDS = ['deny', 'allow', 'reserve', 'limit', 'borrow', 'priority'] as const;

const place = {
  line: described(z.int().nullable(), 'In the text, counted from 1; null if it is about no line.'),
  column: described(z.int().nullable(), 'In the line, counted from 1.'),
  message: described(z.string(), 'What is wrong, and what to write instead.'),
};

const remark = z.object(place).meta({ id: 'RuleRemark', description: 'An error or a warning about rules.' });

const ruleInForce = z
  .object({
    product: described(z.string(), 'The product.'),
    feature: described(z.string().nullable(), 'The feature; null for slots of the product.'),
    kind: described(z.enum(RULE_KINDS), 'The kind of rule.'),
    line: described(z.int(), 'Where it stands in the text.'),
    text: described(z.string(), 'The rule in a few words, as refusals name it.'),
    during: described(z.string().nullable(), 'The name of its time; null: always.'),
    is_active: described(z.boolean(), 'Whether it applies at this time.'),
    groups: described(z.array(z.string()), 'The groups that it names.'),
    slots: described(z.int().nullable(), 'What it reserves, limits or keeps.'),
    in_use: described(z.int().nullable(), 'Slots that its group holds; null where nothing is counted.'),
    still_to_come: described(z.int().nullable(), 'Of a reservation: reserved slots that are kept free now.'),
    refused: described(z.int(), 'How often it refused in the last 30 days.'),
    unused_share: described(
      z.number().nullable(),
      'Of a reservation: what share of it was kept free in the last 30 days, 0 to 1; null: unknown.',
    ),
  })
  .meta({ id: 'RuleInForce', description: 'A rule, and what it does now.' });

const directoryGroup = z
  .object({
    group: described(z.string(), 'Its name in the rules.'),
    directory: described(z.string(), 'Its name in the directory.'),
    members: described(z.int(), 'How many members it has.'),
    answered_at: described(z.string(), 'When the directory last told them, UTC.'),
    problem: described(z.string().nullable(), 'Why it has not told them since.'),
  })
  .meta({ id: 'DirectoryGroup', description: 'A group of the rules that is in the directory.' });

const revisionFacts = {
  revision: described(z.int(), 'Counted from 1.'),
  by: described(z.string(), 'Who applied it.'),
  at: described(z.string(), 'When, UTC.'),
  added: described(z.int(), 'Lines that are new since the revision before.'),
  removed: described(z.int(), 'Lines of the revision before that are gone.'),
};

const revisionObject = z
  .object(revisionFacts)
  .meta({ id: 'RulesRevision', description: 'A version of the rules.' });

const text = described(z.string(), 'The rules, as YAML.');

const sentText = described(z.string().optional(), 'The rules, as YAML.');

const checked = {
  errors: described(z.array(remark), 'Why the text cannot be applied.'),
  warnings: described(z.array(remark), 'What may not be meant.'),
  expectations: described(
    z.array(z.object({ ...place, ok: described(z.boolean(), 'Whether the rules answer as expected.') })),
    'The entries of "expect", in order.',
  ),
};

const changedAnswer = z
  .object({
    at: described(z.string(), 'The hour in which it happened, UTC.'),
    user: described(z.string(), 'Who asked.'),
    product: described(z.string(), 'For what.'),
    feature: described(z.string().nullable(), 'For a feature of it.'),
    groups: described(z.array(z.string()), 'The groups of the user that the rules name, at most 50.'),
    happened: described(z.enum(['served', 'refused']), 'What was answered.'),
    would: described(z.enum(['served', 'refused']), 'What the text would have answered.'),
    rule: described(z.string().nullable(), 'The rule that would refuse.'),
    line: described(z.int().nullable(), 'Where it stands in the text.'),
    times: described(z.int(), 'How often in that hour.'),
  })
  .describe('Requests that rules would have answered differently.');

const changedCounts = {
  newly_refused: described(z.int(), 'Served, and would be refused.'),
  newly_served: described(z.int(), 'Refused, and would be served.'),
};

const counts = {
  requests: described(z.int(), 'Requests for a slot.'),
  refused: described(z.int(), 'Of these, refused.'),
  would_refuse: described(z.int(), 'Refused with the text in force.'),
  ...changedCounts,
};

const tried = z.object({
  since: described(z.string(), 'From when on, UTC.'),
  until: described(z.string(), 'Until when, UTC.'),
  events: described(z.int(), 'Events of the audit log that were replayed.'),
  ...counts,
  products: described(
    z.array(z.object({ product: described(z.string(), 'The product.'), ...counts })),
    'The same for each product.',
  ),
  groups: described(
    z.array(z.object({ group: described(z.string(), 'The group; "" for people in none.'), ...counts })),
    'The same for each group. Who is in several counts in each.',
  ),
  hours: described(
    z.array(z.object({ at: described(z.string(), 'When the hour begins, UTC.'), ...changedCounts })),
    'The hours in which answers would have been others.',
  ),
  users: described(
    z.array(z.object({ user: described(z.string(), 'Who asked.'), ...changedCounts })),
    'People who would have got other answers, at most 100, those with the most first.',
  ),
  rules: described(
    z.array(
      z.object({
        line: described(z.int().nullable(), 'In the text; null if it is not about one line.'),
        text: described(z.string(), 'The rule.'),
        product: described(z.string(), 'Its product.'),
        feature: described(z.string().nullable(), 'Its feature, if any.'),
        would_refuse: described(z.int(), 'How often it would have refused.'),
        unused_share: described(
          z.number().nullable(),
          'Of a reservation: how much of the time its slots were kept free, from 0 to 1.',
        ),
      }),
    ),
    'What each rule would have done.',
  ),
  changes: described(
    z.array(changedAnswer),
    'Requests with another answer, at most 1,000, the latest first.',
  ),
  left_out: described(z.int(), 'Further ones.'),
});

const verdict = z.object({
  answer: described(z.enum(['served', 'refused']), 'What would be answered now.'),
  code: described(z.string().nullable(), 'The code of the refusal.'),
  message: described(z.string(), 'The refusal as the client gets it, or why a slot would be lent.'),
  note: described(z.string().nullable(), 'What else to know about the answer.'),
  kind: described(z.enum(RULE_KINDS).nullable(), 'The kind of rule that decides.'),
  rule: described(z.string().nullable(), 'The rule that decides.'),
  line: described(z.int().nullable(), 'Where it stands in the text.'),
  groups: described(
    z.array(
      z.object({
        group: described(z.string(), 'A group of this person.'),
        by: described(z.string(), 'What makes them a member.'),
      }),
    ),
    'All groups of this person.',
  ),
});

export const RULE_API = {
  'GET /api/admin/rules': {
    answer: z.object({
      revision: described(z.int(), 'The revision in force; 0: there have never been rules.'),
      text,
      by: described(z.string().nullable(), 'Who applied it.'),
      at: described(z.string().nullable(), 'Since when it is in force, UTC.'),
      file: described(z.string().nullable(), 'The file that rules; null: the rules are kept in the store.'),
      file_error: described(z.string().nullable(), 'Why the file is not applied.'),
      warnings: described(z.array(remark), 'What may not be meant.'),
      rules: described(z.array(ruleInForce), 'Every rule of a product, in the order of the text.'),
      written_in: described(z.int(), 'The revision that brought the text; later ones have other members.'),
      directory_groups: described(z.array(directoryGroup), 'Groups whose members the directory tells.'),
    }),
  },
  'POST /api/admin/rules/check': {
    body: z.object({ text: sentText }),
    required: ['text'],
    answer: z.object(checked),
  },
  'POST /api/admin/rules/apply': {
    body: z.object({
      text: sentText,
      based_on: described(
        wholeNumber,
        'The revision that was edited: if another one is in force, nothing is applied.',
      ),
    }),
    required: ['text'],
    answer: z.object({
      revision: described(z.int(), 'The revision that is now in force.'),
      is_new: described(z.boolean(), 'false if the text was in force already.'),
      warnings: described(z.array(remark), 'What may not be meant.'),
    }),
  },
  'GET /api/admin/rules/history': {
    answer: z.object({ revisions: described(z.array(revisionObject), 'The latest first.') }),
  },
  'GET /api/admin/rules/revision': {
    query: z.object({ revision: described(positiveInteger, 'The number of the revision.') }),
    required: ['revision'],
    answer: z.object({
      ...revisionFacts,
      text,
      diff: described(z.string(), 'Against the revision before: lines with "+", "-" or a space.'),
    }),
  },
  'POST /api/admin/rules/revert': {
    body: z.object({
      revision: described(positiveInteger, 'The revision whose text is applied again, as a new one.'),
    }),
    required: ['revision'],
    answer: z.object({ revision: described(z.int(), 'The revision that is now in force.') }),
  },
  'POST /api/admin/rules/import': {
    body: z.object({
      text: described(z.string().optional(), 'An options file of FlexNet or RLM.'),
      format: described(z.enum(['flexnet', 'rlm']).optional(), 'Left out: it is recognized.'),
    }),
    required: ['text'],
    answer: z.object({
      format: described(z.enum(['flexnet', 'rlm']), 'What it was read as.'),
      text,
      report: described(
        z.array(
          z.object({
            line: described(z.int(), 'Of the options file.'),
            source: described(z.string(), 'The line.'),
            verdict: described(z.enum(['same', 'changed', 'unneeded', 'lost']), 'What became of it.'),
            was: described(z.string(), 'What it did.'),
            now: described(z.string(), 'What Berth does.'),
            todo: described(z.string().nullable(), 'What is left to do.'),
          }),
        ),
        'Every line that is no comment.',
      ),
      notes: described(z.array(z.string()), 'What holds for several lines.'),
    }),
  },
} as const satisfies Operations;

/** Who is in groups of the rules. */
export const RULE_MEMBER_API = {
  'GET /api/admin/rules/members': {
    query: z.object({ group: described(name, 'A group with a "directory".') }),
    required: ['group'],
    answer: z.object({
      group: described(z.string(), 'Its name in the rules.'),
      members: described(z.array(z.string()), 'As the directory last told them.'),
    }),
  },
} as const satisfies Operations;

/** What rules would have done, and what they would do now. */
export const RULE_TRIAL_API = {
  'POST /api/admin/rules/try': {
    body: z.object({
      text: text.optional(),
      since: described(z.string().optional(), 'A date, or how long ago; left out: "30d".'),
    }),
    required: ['text'],
    answer: tried,
  },
  'GET /api/admin/rules/explain': {
    query: z.object({
      user: described(userName, 'A user.'),
      product: described(name, 'A product; needed if there are several.'),
      feature: described(name, 'A feature of it.'),
      host: described(name, 'The name of a host.'),
      address: described(name, 'An address.'),
    }),
    required: ['user'],
    answer: verdict,
  },
} as const satisfies Operations;
