import { told } from '@berth/protocol/fields';
import { z } from 'zod';
import type { RuleBook } from '../../../services/access/rule-book.ts';
import { json } from '../../reply/reply.ts';
import { toWire } from '../../reply/to-wire.ts';
import { defineRoute, type Route } from '../../route.ts';
import { barObject } from './bars.ts';

const denyList = z.object({
  users: told(z.array(z.string()), 'By their names.'),
  hosts: told(z.array(z.string()), 'By the names of their hosts.'),
  addresses: told(z.array(z.string()), 'By their addresses.'),
});

const rulesObject = z.object({
  file: told(z.string(), 'The rules file.'),
  deny: told(denyList, 'Whom the rules of the file bar now.'),
  bars: told(z.array(barObject), 'Who else is barred, by commands.'),
  digest: told(z.string(), 'A digest of the rules of the file, which is also in the audit log.'),
  changed_at: told(z.string().nullable(), 'Since when they apply, UTC; null if there have never been any.'),
  error: told(z.string().nullable(), 'Why the current file is not valid.'),
});

export function ruleRoutes(ruleBook: RuleBook): readonly Route[] {
  return [
    defineRoute({
      name: 'admin_rules',
      methods: ['GET'],
      paths: ['/api/admin/rules'],
      access: 'operator',
      summary: 'Who is barred, and the state of the rules file',
      answer: { kind: 'json', schema: rulesObject },
      errors: [],
      handle: async () => {
        const { rules, ...facts } = await ruleBook.describe();
        return json({ ...toWire(facts), deny: rules.deny });
      },
    }),
  ];
}
