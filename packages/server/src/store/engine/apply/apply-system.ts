import type { SecretName, SystemChange } from '../../../core/decision.ts';
import type { Bar } from '../../../core/nouns/bar.ts';
import { bucketStart, DAY_MS } from '../../../core/nouns/instant.ts';
import { orNoRules } from '../../../core/rules/rules.ts';
import type { MasterKey } from '../../../secrets/seal.ts';
import { signHeads } from '../audit/sign-heads.ts';
import { putSegment } from '../audit/thin-audit.ts';
import type { Batch } from '../batch.ts';
import { forgetUser } from '../history/write-history.ts';
import { clampFutureTimes, extendLiveSlots, putTie, restoreBorrows } from '../move-clock.ts';
import { textOfProducts, tokenRow } from '../rows.ts';
import { putSecret, resealSecrets } from '../sealed-secrets.ts';
import type { Appliers } from './apply.ts';

/** Beyond this, the oldest unanswered requests are deleted; answered ones never are. */
const MAX_OPEN_REQUESTS = 1000;

/** Older versions of the rules are deleted. */
const MAX_REVISIONS = 100;

/** How long it is known how much of what was reserved was kept free. */
const RESERVATION_DAYS = 400;

/** Programs that sign in again and again keep this many tokens of one account. */
const MAX_TOKENS_OF_ACCOUNT = 10_000;

const APPLY: Appliers<Batch, SystemChange> = {
  add_request({ statements, now }, { requestId: id, request, product, licenseKey }) {
    const row = { id, request, product, license_key: licenseKey, made_at: now, answered_by: null };
    statements.offline_request.add(row);
    statements.removeOldRequests.run(MAX_OPEN_REQUESTS);
  },
  set_usage_sequence({ statements }, { sequence }) {
    statements.setUsageSequence.run(sequence);
  },
  put_rules(target, { rules, revision, text, writtenIn, ages, by }) {
    const { statements, now } = target;
    const stored = { revision, text, rules: JSON.stringify(rules), written_in: writtenIn };
    const group_ages = JSON.stringify(ages);
    statements.rules_revision.add({ ...stored, group_ages, applied_by: by, applied_at: now });
    statements.removeReplacedRules.run({ revision, writtenIn });
    statements.removeOldRules.run(MAX_REVISIONS);
    target.rules = orNoRules({ ...target.rules, set: rules, revision });
  },
  put_group_ages({ statements }, { revision, ages }) {
    statements.putGroupAges.run(JSON.stringify(ages), revision);
  },
  add_reservation_samples({ statements, now }, { samples }) {
    const at = bucketStart(now, DAY_MS);
    for (const sample of samples) statements.addReservation.run({ ...sample, at });
    statements.removeOldReservations.run(now - RESERVATION_DAYS * DAY_MS);
  },
  put_bar(target, { bar, by }) {
    const { kind, pattern, note } = bar;
    target.statements.bar.put({ kind, pattern, note, added_by: by, added_at: target.now });
    target.rules = orNoRules({ ...target.rules, bars: [...withoutBar(target, bar), bar] });
  },
  remove_bar(target, { bar }) {
    target.statements.bar.remove(bar);
    target.rules = orNoRules({ ...target.rules, bars: withoutBar(target, bar) });
  },
  put_setting({ statements, now }, { name, value, by }) {
    statements.setting.put({ name, value: JSON.stringify(value), changed_by: by, changed_at: now });
  },
  remove_setting({ statements }, { name }) {
    statements.setting.remove({ name });
    const secret: SecretName = `setting:${name}`;
    statements.sealed_secret.remove({ name: secret });
  },
  put_notice({ statements }, { key, value }) {
    statements.notice.put({ ...key, value });
  },
  remove_notice({ statements }, { key }) {
    statements.notice.remove(key);
  },
  forget_attempts({ statements }, { usedBy }) {
    statements.removeUsedAttempts.run(usedBy);
  },
  set_cursor({ statements }, { follower, position: { seq, index }, memory }) {
    statements.follower.put({ name: follower, seq, place: index, memory });
  },
  remove_cursor({ statements }, { follower }) {
    statements.follower.remove({ name: follower });
  },
  put_secret(target, { name, secret }) {
    putSecret(target, name, Buffer.from(secret, 'utf8'));
  },
  reseal_secrets(target, { newKey }) {
    resealSecrets(target, newKey as MasterKey);
  },

  put_account({ statements, now }, { name, role, products, passwordHash, oneTime }) {
    const times = { created_at: now, one_time_at: oneTime ? now : null, one_time_used: 0 };
    const noFactor = { second_factor_step: null, recovery_codes: '[]' };
    const own = { name, role, products: textOfProducts(products), password_hash: passwordHash };
    statements.account.add({ ...own, ...times, ...noFactor });
  },
  put_password({ statements, now }, { name, passwordHash, oneTime }) {
    statements.putPassword.run(passwordHash, oneTime ? now : null, name);
  },
  put_role({ statements }, { name, role, products }) {
    statements.putRole.run(role, textOfProducts(products), name);
  },
  remove_account({ statements }, { name }) {
    statements.account.remove({ name });
  },
  put_second_factor({ statements }, { name, secondFactor: { usedStep, recoveryCodes } }) {
    statements.putSecondFactor.run(usedStep, JSON.stringify(recoveryCodes), name);
  },
  remove_second_factor({ statements }, { name }) {
    statements.putSecondFactor.run(null, '[]', name);
    const secret: SecretName = `second_factor:${name}`;
    statements.sealed_secret.remove({ name: secret });
  },
  use_one_time_password({ statements }, { name }) {
    statements.useOneTimePassword.run(name);
  },
  end_setup({ statements, now }) {
    statements.endSetup.run(now);
  },
  remove_setup_tokens({ statements }, { except }) {
    statements.removeSetupTokens.run(except ?? '');
  },
  put_token({ statements }, { tokenHash, token }) {
    statements.token.add(tokenRow(tokenHash, token));
    if (token.account !== null) statements.removeSurplusTokens.run(token.account, MAX_TOKENS_OF_ACCOUNT);
  },
  touch_token({ statements, now }, { tokenHash }) {
    statements.touchToken.run(now, tokenHash);
  },
  free_token({ statements }, { tokenHash }) {
    statements.freeToken.run(tokenHash);
  },
  remove_token({ statements }, { tokenId }) {
    statements.removeToken.run(tokenId);
  },
  remove_tokens_of({ statements }, { account, except }) {
    statements.removeTokensOf.run(account, except ?? '');
  },
  remove_dead_tokens({ statements }, { authUsedBy, sessionIssuedBy }) {
    statements.removeDeadTokens.run(authUsedBy, sessionIssuedBy);
  },

  set_hardware_id: ({ statements }, { hardwareId }) => statements.saveHardwareId.run(hardwareId),
  put_tie: (batch, { license }) => putTie(batch, license),
  sign_heads: (batch, { heads }) => signHeads(batch, heads),
  put_segment: (batch, { segment }) => putSegment(batch, segment),
  move_clock: (batch, { to }) => {
    batch.now = to;
  },
  set_test_clock: ({ statements }, { aheadMs }) => statements.setTestClock.run(aheadMs),
  extend_live: (batch, { since }) => extendLiveSlots(batch, since),
  restore_borrows: (batch, { restoration }) => restoreBorrows(batch, restoration),
  pull_back: (batch, { from }) => clampFutureTimes(batch, from),
  forget_user: ({ statements, licenses }, { user }) => forgetUser(statements, licenses, user),
};

function withoutBar({ rules }: Batch, { kind, pattern }: Bar): readonly Bar[] {
  return rules.bars.filter((bar) => bar.kind !== kind || bar.pattern !== pattern);
}

export function applySystemChange(batch: Batch, change: SystemChange): void {
  const apply = APPLY[change.kind] as (batch: Batch, change: SystemChange) => void;
  apply(batch, change);
}
