import { CERTIFICATE_PROOF_HEADER } from '@berth/protocol/cloud/certificate-proof';
import {
  activateRequest,
  checkQuery,
  DEACTIVATED_TEXT,
  deactivateRequest,
  productQuery,
  SYNC_EVENT,
} from '@berth/protocol/cloud/cloud-requests';
import { KEY_STATEMENT_HEADER } from '@berth/protocol/grant/key-statement';
import { RequestError } from '@berth/protocol/request-error';
import type { HeaderFields, HttpRequest } from '@berth/web/http-request';
import { json, text } from '@berth/web/reply';
import type { Command, Count, Identity } from '../core/command.ts';
import type { Counted, Licensed, Outcome } from '../core/decision.ts';
import { execute } from '../store/execute.ts';
import { certifyOnline, type OnlineRequest } from '../store/keys/certificates.ts';
import type { CallerKey } from '../store/keys/keys.ts';
import { findProduct } from '../store/products.ts';
import { PORTAL_ROUTES } from './portal/portal.ts';
import {
  certificateField,
  presentFeature,
  presentLicensed,
  presentProduct,
  presentTotal,
} from './present-license.ts';
import { readHost, readIdentity } from './read-identity.ts';
import { readBody, readQuery } from './read-input.ts';
import { problem, type Reply } from './reply.ts';
import { type CountFields, countRequest, featureCountRequest, type Identification } from './requests.ts';
import type { Context, Route } from './route.ts';

export const ROUTES: readonly Route[] = [
  { name: 'root', methods: ['GET'], paths: ['/'], needsKeys: false, handle: describeCloud },
  { name: 'health', methods: ['GET'], paths: ['/health'], needsKeys: false, handle: checkHealth },
  operation('POST', 'activate_license', 'activate', activate),
  operation('GET', 'check_license', 'check', check),
  operation('POST', 'deactivate_license', 'deactivate', deactivate),
  operation('POST', 'add_consumption', 'count', addConsumption),
  operation('POST', 'add_feature_consumption', 'count_feature', addFeatureConsumption),
  operation('GET', 'product_details', 'product', describeProduct),
  ...PORTAL_ROUTES,
];

/** An operation of the v4 API, for servers with a pair of keys. */
function operation(method: 'GET' | 'POST', path: string, name: string, handle: Route['handle']): Route {
  return { name, methods: [method], paths: [`/api/v4/${path}`], needsKeys: true, handle };
}

function describeCloud(): Reply {
  return json({ name: 'licensing cloud' });
}

/** Also reads the database: a cloud that cannot read its data is not healthy. */
function checkHealth(_: HttpRequest, { store }: Context): Reply {
  store.sql.findAirgapPublicKey.get();
  return json({ status: 'ok' });
}

/** Lets the store decide. Sends a refusal as is and passes any other result to `present`. */
function answer(
  context: Context,
  command: Command,
  present: (outcome: Exclude<Outcome, { kind: 'refused' }>) => Reply,
): Reply {
  const { outcome, licenseId } = execute(context.store, command, callerOf(context), context.now);
  context.binding.licenseId = licenseId;
  if (outcome.kind === 'refused') return problem(outcome.code, outcome.message, outcome.details);
  return present(outcome);
}

function callerOf({ caller }: Context): CallerKey {
  if (caller === undefined) throw new Error('The route needs no keys.');
  return caller;
}

function identify(context: Context, fields: Identification, needsPassword = false): Promise<Identity> {
  context.binding.hardwareId = fields.hardware_id ?? null;
  return readIdentity(context.store, fields, callerOf(context).customer, needsPassword);
}

async function activate(request: HttpRequest, context: Context): Promise<Reply> {
  const fields = await readBody(request, activateRequest);
  const who = await identify(context, fields, true);
  return answer(context, { kind: 'activate', who, host: readHost(fields) }, (outcome) =>
    presentLicense(outcome, context, request),
  );
}

async function check(request: HttpRequest, context: Context): Promise<Reply> {
  const who = await identify(context, readQuery(request, checkQuery));
  return answer(context, { kind: 'check', who }, (outcome) => presentLicense(outcome, context, request));
}

function presentLicense(outcome: Outcome, context: Context, { headers }: HttpRequest): Reply {
  const { store, signingKeys, now } = context;
  if (outcome.kind !== 'licensed') throw new Error(`A license was expected, not "${outcome.kind}".`);
  const request = readCertificateRequest(headers, outcome, context);
  const certificates = request === null ? [] : certifyOnline(store, outcome, request, signingKeys, now);
  const license = presentLicensed(outcome, signingKeys.current, now);
  return json({ ...license, ...certificateField(certificates) });
}

/** `null`: the server asks for no certificate, or gets none because it can lend nothing. */
function readCertificateRequest(
  headers: HeaderFields,
  { license, hardwareId }: Licensed,
  context: Context,
): OnlineRequest | null {
  const { nonce, requestDigest } = context.binding;
  const keyStatement = headers.get(KEY_STATEMENT_HEADER.toLowerCase());
  if (keyStatement === null || license.terms.lending === null) return null;
  const date = headers.get('date') ?? '';
  const signed = { date, nonce: nonce ?? '', requestDigest: requestDigest ?? '', hardwareId, keyStatement };
  // Whoever takes proof or nonce out of a request on its way must not go unnoticed.
  const proof = nonce === null ? '' : (headers.get(CERTIFICATE_PROOF_HEADER.toLowerCase()) ?? '');
  return { ...signed, proof, caller: callerOf(context), from: context.address };
}

async function deactivate(request: HttpRequest, context: Context): Promise<Reply> {
  const who = await identify(context, await readBody(request, deactivateRequest));
  // A bare string cannot carry a binding.
  const isBound = context.binding.nonce !== null;
  return answer(context, { kind: 'deactivate', who }, () =>
    isBound ? json({ code: DEACTIVATED_TEXT }) : text(DEACTIVATED_TEXT),
  );
}

async function addConsumption(request: HttpRequest, context: Context): Promise<Reply> {
  const fields = await readBody(request, countRequest);
  const command = await readCount(context, fields, null);
  return answer(context, command, (outcome) => presentCount(outcome, command));
}

async function addFeatureConsumption(request: HttpRequest, context: Context): Promise<Reply> {
  const fields = await readBody(request, featureCountRequest);
  if (fields.feature === undefined) throw missing('feature');
  const command = await readCount(context, fields, fields.feature);
  return answer(context, command, (outcome) => presentCount(outcome, command));
}

async function readCount(context: Context, fields: CountFields, feature: string | null): Promise<Count> {
  return {
    kind: 'count',
    who: await identify(context, fields),
    feature,
    amount: fields.consumptions,
    allowOverages: fields.allow_overages ?? null,
    maxOverages: fields.max_overages ?? null,
    isSync: fields.event.includes(SYNC_EVENT),
    reportId: fields.report_id ?? null,
  };
}

function presentCount(outcome: Outcome, { reportId }: Count): Reply {
  const { license, feature, total } = outcome as Counted;
  const counted =
    feature === null ? presentTotal(license, total) : presentFeature(license.id, feature, total);
  return json(reportId === null ? counted : { ...counted, report_id: reportId });
}

function describeProduct(request: HttpRequest, { store }: Context): Reply {
  const { product: code } = readQuery(request, productQuery);
  if (code === undefined) throw missing('product');
  const product = findProduct(store, code);
  if (product !== null) return json(presentProduct(product));
  return problem('unknown_product', `The product "${code}" does not exist.`);
}

function missing(field: string): RequestError {
  return new RequestError('missing_parameters', `"${field}" is missing.`, { field });
}
