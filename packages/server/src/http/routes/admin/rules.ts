import { z } from 'zod';
import type { RuleBook } from '../../../services/rule-book.ts';
import { json } from '../../reply.ts';
import { defineRoute, type Route } from '../../route.ts';
import { toWire } from '../../to-wire.ts';

const denyList = z.object({
  users: z.array(z.string()),
  hosts: z.array(z.string()),
  addresses: z.array(z.string()),
});

const rulesObject = z.object({
  file: z.string(),
  deny: denyList.meta({ description: 'who is barred now' }),
  digest: z.string().meta({ description: 'the same for the same rules; the audit log tells it, too' }),
  changed_at: z.string().nullable().meta({ description: 'since when; null: there have never been rules' }),
  error: z.string().nullable().meta({ description: 'why the file cannot be used as it is now' }),
});

export function ruleRoutes(ruleBook: RuleBook): readonly Route[] {
  return [
    defineRoute({
      name: 'admin_rules',
      methods: ['GET'],
      paths: ['/api/admin/rules'],
      access: 'operator',
      summary: 'Who is barred, and what the rules file is like',
      answer: { kind: 'json', schema: rulesObject },
      errors: [],
      handle: async () => {
        const { rules, ...facts } = await ruleBook.describe();
        return json({ ...toWire(facts), deny: rules.deny });
      },
    }),
  ];
}
