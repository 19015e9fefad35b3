import { RULE_API, RULE_MEMBER_API } from '@berth/protocol/admin/rules';
import { RequestError } from '@berth/protocol/request-error';
import type { ImportedRules, importOptions } from '../../../services/rules/import/import-options.ts';
import type { RuleBook } from '../../../services/rules/rule-book.ts';
import { adminRoutes } from '../../admin-route.ts';
import { toWire } from '../../reply/to-wire.ts';
import type { Route } from '../../route.ts';

const APPLY_ERRORS = ['rules_not_valid', 'rules_changed', 'rules_in_file', 'directory_unavailable'] as const;

export function ruleRoutes(ruleBook: RuleBook): readonly Route[] {
  return adminRoutes(RULE_API, {
    'GET /api/admin/rules': {
      name: 'admin_rules',
      access: 'viewer',
      summary: 'The rules in force, and what each of them does now',
      handle: async (_, send) => {
        const { applied, file, fileError, warnings, inForce, groups } = await ruleBook.describe();
        const { revision, text, writtenIn, by, at } = applied ?? NEVER_APPLIED;
        const facts = { revision, text, writtenIn, by, at, file, fileError, warnings, rules: inForce };
        return send(toWire({ ...facts, directoryGroups: groups.map(presentGroup) }));
      },
    },
    'POST /api/admin/rules/check': {
      name: 'admin_rules_check',
      access: 'viewer',
      summary: 'Check the text of rules, without applying it',
      holdsFile: true,
      isLong: true,
      errors: ['too_many_requests'],
      handle: async ({ body, request }, send) =>
        send(presentChecked(await ruleBook.check(body.text, request.signal))),
    },
    'POST /api/admin/rules/apply': {
      name: 'admin_rules_apply',
      access: 'admin',
      summary: 'Put rules in force, as a new revision',
      holdsFile: true,
      errors: APPLY_ERRORS,
      handle: async ({ body, caller }, send) =>
        send(toWire(await ruleBook.apply(body.text, body.based_on, caller.actor))),
    },
    'GET /api/admin/rules/history': {
      name: 'admin_rules_history',
      access: 'viewer',
      summary: 'All revisions of the rules',
      handle: async (_, send) => send({ revisions: (await ruleBook.listRevisions()).map(presentRevision) }),
    },
    'GET /api/admin/rules/revision': {
      name: 'admin_rules_revision',
      access: 'viewer',
      summary: 'One revision of the rules, and what changed with it',
      errors: ['rules_revision_not_found'],
      handle: async ({ query }, send) => {
        const found = await ruleBook.findRevision(query.revision);
        return send({ ...presentRevision(found), text: found.text, diff: found.diff.join('\n') });
      },
    },
    'POST /api/admin/rules/revert': {
      name: 'admin_rules_revert',
      access: 'admin',
      summary: 'Apply the text of an earlier revision again',
      errors: ['rules_revision_not_found', ...APPLY_ERRORS],
      handle: async ({ body, caller }, send) => {
        const { revision } = await ruleBook.revert(body.revision, caller.actor);
        return send({ revision });
      },
    },
    'POST /api/admin/rules/import': {
      name: 'admin_rules_import',
      access: 'viewer',
      summary: 'Translate an options file of FlexNet or RLM, without applying it',
      holdsFile: true,
      isLong: true,
      errors: ['rules_not_valid', 'too_many_requests'],
      handle: async ({ body, request }, send) =>
        send(requireImported(await ruleBook.import(body.text, body.format, request.signal))),
    },
  });
}

/** Who is in groups of the rules. */
export function ruleMemberRoutes(ruleBook: RuleBook): readonly Route[] {
  return adminRoutes(RULE_MEMBER_API, {
    'GET /api/admin/rules/members': {
      name: 'admin_rules_members',
      access: 'viewer',
      summary: 'Who is in a group of the rules, by what the directory told',
      errors: ['group_not_found'],
      handle: async ({ query: { group } }, send) =>
        send({ group, members: await ruleBook.listMembers(group) }),
    },
  });
}

const NEVER_APPLIED = { revision: 0, text: '', writtenIn: 0, by: null, at: null } as const;

type Listed = Awaited<ReturnType<RuleBook['describe']>>['groups'][number];

function presentGroup({ group, dn, members, answeredAt, problem }: Listed) {
  return { group, directory: dn, members: members.length, answeredAt, problem };
}

type Revision = Awaited<ReturnType<RuleBook['findRevision']>>;

function presentRevision({ revision, by, at, diff }: Revision) {
  const count = (sign: string) => diff.filter((line) => line.startsWith(sign)).length;
  return toWire({ revision, by, at, added: count('+'), removed: count('-') });
}

function presentChecked(checked: Awaited<ReturnType<RuleBook['check']>>) {
  const { errors, warnings, expectations } = { errors: [], warnings: [], expectations: [], ...checked };
  return { errors, warnings, expectations };
}

function requireImported(imported: ReturnType<typeof importOptions>): ImportedRules {
  if ('problem' in imported) throw new RequestError('rules_not_valid', imported.problem);
  return imported;
}
