import { exportKey } from './nouns/notice-key.ts';
import { createAccount, removeAccount, setPassword, setRole } from './system/accounts.ts';
import { setCursor, signHeads, thinAudit } from './system/audit.ts';
import { bindHardware } from './system/bind-hardware.ts';
import { putChannel, removeChannel } from './system/channels.ts';
import { acceptClock, resetClock } from './system/clock.ts';
import { forgetUser } from './system/forget-user.ts';
import { note } from './system/note.ts';
import { numberUsage, openRequest } from './system/offline-files.ts';
import { restoreBackup } from './system/restore-backup.ts';
import { addBar, refreshGroups, removeBar, sampleReservations, setRules } from './system/rules.ts';
import { rotateGrantKey, rotateMasterKey, setCloudKeys, setWebhookSecret } from './system/secrets.ts';
import { changeSettings } from './system/settings.ts';
import { signInPerson } from './system/sign-in-person.ts';
import { advanceTestClock, startTestClock } from './system/test-clock.ts';
import { createToken, revokeToken, signIn, useToken } from './system/tokens.ts';
import type { RecordEvent, SystemCommand } from './system-command.ts';
import { ON_SERVER, type SystemModule } from './system-module.ts';

const recordEvent = {
  ...ON_SERVER,
  decide: ({ event }, _, now) => ({
    outcome: { kind: 'done', count: 1 },
    changes:
      event.kind === 'master_key_exported'
        ? [{ kind: 'put_notice', key: exportKey(event.fingerprint), value: now }]
        : [],
    events: [event],
  }),
} satisfies SystemModule<RecordEvent>;

/** Every kind of command on the server itself. */
const MODULES = {
  create_account: createAccount,
  set_password: setPassword,
  set_role: setRole,
  remove_account: removeAccount,
  sign_in: signIn,
  sign_in_person: signInPerson,
  use_token: useToken,
  create_token: createToken,
  revoke_token: revokeToken,
  record_event: recordEvent,
  open_request: openRequest,
  number_usage: numberUsage,
  bind_hardware: bindHardware,
  accept_clock: acceptClock,
  reset_clock: resetClock,
  start_test_clock: startTestClock,
  advance_test_clock: advanceTestClock,
  set_cloud_keys: setCloudKeys,
  set_webhook_secret: setWebhookSecret,
  put_channel: putChannel,
  remove_channel: removeChannel,
  rotate_master_key: rotateMasterKey,
  rotate_grant_key: rotateGrantKey,
  set_rules: setRules,
  refresh_groups: refreshGroups,
  sample_reservations: sampleReservations,
  add_bar: addBar,
  remove_bar: removeBar,
  change_settings: changeSettings,
  note,
  restore_backup: restoreBackup,
  set_cursor: setCursor,
  sign_heads: signHeads,
  thin_audit: thinAudit,
  forget_user: forgetUser,
} satisfies { [K in SystemCommand['kind']]: SystemModule<Extract<SystemCommand, { kind: K }>> };

export function systemModuleOf(command: SystemCommand): SystemModule<SystemCommand> {
  return MODULES[command.kind] as SystemModule<SystemCommand>;
}
