import type { z } from 'zod';
import type { setKeysAnswer, setKeysRequest } from '../api/cloud-keys.ts';
import type { licenseObject } from '../api/license-object.ts';
import type {
  airgapGenerateAnswer,
  airgapGenerateRequest,
  airgapLicenseRequest,
  generateAnswer,
  generateRequest,
} from '../api/offline.ts';
import type { setPasswordAnswer, setPasswordRequest } from '../api/passwords.ts';
import type { addProductRequest, removeProductAnswer, removeProductRequest } from '../api/products.ts';
import type { AUDIT_API } from './audit.ts';
import type { BACKUP_API } from './backup.ts';
import type { BAR_API } from './bars.ts';
import type { CHANNEL_API, WEBHOOK_API } from './channels.ts';
import type { CLOCK_API } from './clock.ts';
import type { CLOUD_API } from './cloud.ts';
import type { DOCTOR_API } from './doctor.ts';
import type { EVENT_API } from './events.ts';
import type { HISTORY_API } from './history.ts';
import type { IDENTITY_API } from './identity.ts';
import type { KEY_API } from './keys.ts';
import type { LICENSE_API } from './licenses.ts';
import type { LINE_API } from './line.ts';
import type { PROVIDER_API } from './provider.ts';
import type { REGISTRATION_API } from './registrations.ts';
import type { RULE_API, RULE_MEMBER_API, RULE_TRIAL_API } from './rules.ts';
import type { SESSION_API } from './session.ts';
import type { SETTING_API } from './settings.ts';
import type { STATUS_API } from './status.ts';
import type { TEST_CLOCK_API } from './test-clock.ts';
import type { TOKEN_API } from './tokens.ts';
import type { SECOND_FACTOR_API, USER_API } from './users.ts';

/**
 * Everything that the administrator's page and the command line ask for, by method and path. Types only: the
 * page must not carry the schemas.
 */
type AdminApi = typeof AUDIT_API &
  typeof BACKUP_API &
  typeof BAR_API &
  typeof CHANNEL_API &
  typeof CLOCK_API &
  typeof CLOUD_API &
  typeof DOCTOR_API &
  typeof EVENT_API &
  typeof HISTORY_API &
  typeof IDENTITY_API &
  typeof KEY_API &
  typeof LICENSE_API &
  typeof LINE_API &
  typeof PROVIDER_API &
  typeof REGISTRATION_API &
  typeof RULE_API &
  typeof RULE_MEMBER_API &
  typeof RULE_TRIAL_API &
  typeof SECOND_FACTOR_API &
  typeof SESSION_API &
  typeof SETTING_API &
  typeof STATUS_API &
  typeof TEST_CLOCK_API &
  typeof TOKEN_API &
  typeof USER_API &
  typeof WEBHOOK_API &
  OtherApi;

/** What they need besides the admin API. */
interface OtherApi {
  'GET /metrics': object;
  'POST /api/v4/addProduct': Taking<typeof addProductRequest, typeof licenseObject>;
  'POST /api/v4/removeProduct': Taking<typeof removeProductRequest, typeof removeProductAnswer>;
  'POST /api/v4/license/generate': Taking<typeof generateRequest, typeof generateAnswer>;
  'POST /api/v4/license/upload': Answering<typeof licenseObject>;
  'POST /api/v4/airgap/generate': Taking<typeof airgapGenerateRequest, typeof airgapGenerateAnswer>;
  'POST /api/v4/airgap/license': Taking<typeof airgapLicenseRequest, typeof licenseObject>;
  'POST /api/v4/setKeys': Taking<typeof setKeysRequest, typeof setKeysAnswer>;
  'POST /api/v4/setPassword': Taking<typeof setPasswordRequest, typeof setPasswordAnswer>;
}

type Answering<A> = { readonly answer: A };
type Taking<B, A> = { readonly body: B; readonly answer: A };

type PathOf<Method extends string, Key = keyof AdminApi> = Key extends `${Method} ${infer Path}`
  ? Path
  : never;

export type GetPath = PathOf<'GET'>;
export type PostPath = PathOf<'POST'>;

/** Everything that can be asked for, by method and path. */
export type OperationKey = keyof AdminApi;

type OperationAt<Key extends string> = AdminApi[Extract<keyof AdminApi, Key>];

type AnswerOf<O> = O extends { readonly answer: infer A extends z.ZodType } ? z.output<A> : never;

export type GetAnswer<Path extends GetPath> = AnswerOf<OperationAt<`GET ${Path}`>>;
export type PostAnswer<Path extends PostPath> = AnswerOf<OperationAt<`POST ${Path}`>>;

/** Values come from flags and from addresses, so the server alone judges them. */
export type GetQuery<Path extends GetPath> =
  OperationAt<`GET ${Path}`> extends { readonly query: infer Q extends z.ZodObject }
    ? { readonly [Name in keyof z.output<Q>]?: string | number | null | undefined }
    : NoFields;

/** Numbers may be sent as digits, too. */
export type PostBody<Path extends PostPath> =
  OperationAt<`POST ${Path}`> extends { readonly body: infer B extends z.ZodObject }
    ? { readonly [Name in keyof z.output<B>]?: z.output<B>[Name] | Digits<z.output<B>[Name]> | undefined }
    : NoFields;

type Digits<Value> = number extends Value ? string : never;

type NoFields = Readonly<Record<never, never>>;

/** Forbids fields that are not known: TypeScript itself looks for them only in literals. */
export type Exactly<Given, Known> = { readonly [Name in Exclude<keyof Given, keyof Known>]: never };
