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
import { problem, RequestError } from './problem.ts';
import { readHost, readIdentity } from './read-identity.ts';
import { readBody, readQuery } from './read-input.ts';
import { json, type Reply, text } from './reply.ts';
import { type CountFields, countRequest, featureCountRequest, type Identification } from './requests.ts';
import type { Context, Route } from './route.ts';

const API = '/api/v4';

export const ROUTES: readonly Route[] = [
  {
    name: 'root',
    method: 'GET',
    path: '/',
    needsKeys: false,
    handle: () => json({ name: 'licensing cloud' }),
  },
  { name: 'health', method: 'GET', path: '/health', needsKeys: false, handle: tellHealth },
  { name: 'activate', method: 'POST', path: `${API}/activate_license`, needsKeys: true, handle: activate },
  { name: 'check', method: 'GET', path: `${API}/check_license`, needsKeys: true, handle: check },
  {
    name: 'deactivate',
    method: 'POST',
    path: `${API}/deactivate_license`,
    needsKeys: true,
    handle: deactivate,
  },
  { name: 'count', method: 'POST', path: `${API}/add_consumption`, needsKeys: true, handle: addConsumption },
  {
    name: 'count_feature',
    method: 'POST',
    path: `${API}/add_feature_consumption`,
    needsKeys: true,
    handle: addFeatureConsumption,
  },
  {
    name: 'product',
    method: 'GET',
    path: `${API}/product_details`,
    needsKeys: true,
    handle: describeProduct,
  },
  ...PORTAL_ROUTES,
];

/** Also reads the database: a cloud that cannot read its data is not healthy. */
function tellHealth(_: Request, { store }: Context): Reply {
  store.sql.readNextId.get();
  return json({ status: 'ok' });
}

/** Lets the store decide. Sends a refusal as is and passes any other result to `present`. */
function answer(
  context: Context,
  command: Command,
  present: (outcome: Exclude<Outcome, { kind: 'refused' }>) => Reply,
): Reply {
  const { outcome, licenseId } = execute(context.store, command, callerOf(context), context.now);
  context.asked.licenseId = licenseId;
  if (outcome.kind === 'refused') return problem(outcome.code, outcome.message, outcome.details);
  return present(outcome);
}

function callerOf({ caller }: Context): CallerKey {
  if (caller === undefined) throw new Error('The route needs no keys.');
  return caller;
}

function identify(context: Context, fields: Identification, needsPassword = false): Promise<Identity> {
  context.asked.hardwareId = fields.hardware_id ?? null;
  return readIdentity(context.store, fields, callerOf(context).customer, needsPassword);
}

async function activate(request: Request, context: Context): Promise<Reply> {
  const fields = await readBody(request, activateRequest);
  const who = await identify(context, fields, true);
  return answer(context, { kind: 'activate', who, host: readHost(fields) }, (outcome) =>
    presentLicense(outcome, context, request),
  );
}

async function check(request: Request, context: Context): Promise<Reply> {
  const who = await identify(context, readQuery(request.url, checkQuery));
  return answer(context, { kind: 'check', who }, (outcome) => presentLicense(outcome, context, request));
}

function presentLicense(outcome: Outcome, context: Context, { headers }: Request): Reply {
  const { store, signingKeys, now } = context;
  if (outcome.kind !== 'licensed') throw new Error(`A license was expected, not "${outcome.kind}".`);
  const request = readCertificateRequest(headers, outcome, context);
  const certificates = request === null ? [] : certifyOnline(store, outcome, request, signingKeys, now);
  const license = presentLicensed(outcome, signingKeys.current, now);
  return json({ ...license, ...certificateField(certificates) });
}

/** `null`: the server asks for no certificate, or gets none because it can lend nothing. */
function readCertificateRequest(
  headers: Headers,
  { license, hardwareId }: Licensed,
  context: Context,
): OnlineRequest | null {
  const { nonce, requestDigest } = context.asked;
  const keyStatement = headers.get(KEY_STATEMENT_HEADER);
  if (keyStatement === null || license.terms.lending === null) return null;
  const date = headers.get('date') ?? '';
  const asked = { date, nonce: nonce ?? '', requestDigest: requestDigest ?? '', hardwareId, keyStatement };
  // Whoever takes proof or nonce out of a request on its way must not go unnoticed.
  const proof = nonce === null ? '' : (headers.get(CERTIFICATE_PROOF_HEADER) ?? '');
  return { ...asked, proof, caller: callerOf(context), from: context.place };
}

async function deactivate(request: Request, context: Context): Promise<Reply> {
  const who = await identify(context, await readBody(request, deactivateRequest));
  // A bare string cannot carry a binding.
  const isBound = context.asked.nonce !== null;
  return answer(context, { kind: 'deactivate', who }, () =>
    isBound ? json({ code: DEACTIVATED_TEXT }) : text(DEACTIVATED_TEXT),
  );
}

async function addConsumption(request: Request, context: Context): Promise<Reply> {
  const fields = await readBody(request, countRequest);
  const command = await readCount(context, fields, null);
  return answer(context, command, (outcome) => presentCount(outcome, command));
}

async function addFeatureConsumption(request: Request, context: Context): Promise<Reply> {
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

function describeProduct(request: Request, { store }: Context): Reply {
  const { product: code } = readQuery(request.url, productQuery);
  if (code === undefined) throw missing('product');
  const product = findProduct(store, code);
  if (product !== null) return json(presentProduct(product));
  return problem('unknown_product', `The product "${code}" does not exist.`);
}

function missing(field: string): RequestError {
  return new RequestError('missing_parameters', `"${field}" is missing.`, { field });
}
