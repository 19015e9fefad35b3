import { licenseObject } from '@berth/protocol/api/license-object';
import {
  airgapGenerateAnswer,
  airgapGenerateRequest,
  airgapLicenseRequest,
  generateAnswer,
  generateRequest,
} from '@berth/protocol/api/offline';
import { RequestError } from '@berth/protocol/request-error';
import type { RequestHead } from '@berth/web/http-request';
import { readUploadText } from '@berth/web/read-input';
import { fileReply, json, jsonText, type Reply } from '@berth/web/reply';
import { licenseId } from '../../../core/nouns/license.ts';
import type { Offline } from '../../../services/offline/offline.ts';
import { presentLicense } from '../../reply/present-license.ts';
import { refusalReply } from '../../reply/problem.ts';
import { toWire } from '../../reply/to-wire.ts';
import { defineRoute, type Route } from '../../route.ts';

export function offlineRoutes(offline: Offline): readonly Route[] {
  return [
    generateRoute(offline),
    uploadRoute(offline),
    airgapGenerateRoute(offline),
    airgapLicenseRoute(offline),
  ];
}

function generateRoute(offline: Offline): Route {
  return defineRoute('POST /api/v4/license/generate', {
    name: 'license_generate',
    access: 'admin',
    summary: 'Create a file that requests or returns a license; text/plain returns the file',
    body: generateRequest,
    answer: { kind: 'json', schema: generateAnswer, textToo: 'the file' },
    errors: ['license_not_found', 'missing_parameters'],
    handle: async ({ request, body, caller }) => {
      const { product = null, license_key: licenseKey = null, username = null } = body;
      const wish = { product, licenseKey, username };
      const id = body.license_id === undefined ? null : licenseId(body.license_id);
      const by = caller.actor;
      const made =
        body.request === 'deactivation'
          ? await offline.requestDeactivation({ ...wish, licenseId: id }, by)
          : await offline.requestLicense(wish, by);
      if (wantsText(request)) return fileReply(made.requestData, made.fileName);
      return json({ status: 'ok', ...toWire(made) });
    },
  });
}

/** Whether the caller wants the plain file: it accepts plain text and not JSON. */
export function wantsText(request: RequestHead): boolean {
  const accept = request.headers.get('accept') ?? '';
  return /\btext\/plain\b/i.test(accept) && !/\bapplication\/json\b/i.test(accept);
}

function uploadRoute(offline: Offline): Route {
  return defineRoute('POST /api/v4/license/upload', {
    name: 'license_upload',
    access: 'admin',
    summary: 'Install a license file: the answer to a request, or a refresh of an installed license',
    takesFile: true,
    answer: { kind: 'json', schema: licenseObject },
    errors: [
      'payload_too_large',
      'missing_parameters',
      'test_clock_on',
      'license_not_found',
      'license_not_floating',
      'offline_key_not_configured',
      'offline_file_invalid',
      'offline_signature_mismatch',
      'offline_hardware_mismatch',
      'offline_request_unknown',
      'offline_request_used',
      'offline_file_outdated',
    ],
    handle: async ({ request, caller, isStillAllowed }) => {
      const text = await readUploadText(request);
      // A file may arrive slowly, and the credentials may be revoked meanwhile.
      if (!(await isStillAllowed())) {
        throw new RequestError('unauthorized', 'The token has been revoked. Get a new one from /auth.');
      }
      return licenseReply(await offline.install(text, caller.actor));
    },
  });
}

function airgapGenerateRoute(offline: Offline): Route {
  return defineRoute('POST /api/v4/airgap/generate', {
    name: 'airgap_generate',
    access: 'admin',
    summary: "Create this server's activation code from the vendor's initialization code",
    body: airgapGenerateRequest,
    answer: { kind: 'json', schema: airgapGenerateAnswer },
    errors: ['missing_parameters', 'airgap_code_invalid'],
    handle: async ({ body, caller }) => {
      const { license_key: licenseKey = null, signing_key: initializationCode = null } = body;
      const wish = { licenseKey, initializationCode };
      return json({ status: 'ok', ...toWire(await offline.activateByCode(wish, caller.actor)) });
    },
  });
}

function airgapLicenseRoute(offline: Offline): Route {
  return defineRoute('POST /api/v4/airgap/license', {
    name: 'airgap_license',
    access: 'admin',
    summary: "Install a policy file with the vendor's confirmation code",
    body: airgapLicenseRequest,
    holdsFile: true,
    answer: { kind: 'json', schema: licenseObject },
    errors: [
      'missing_parameters',
      'test_clock_on',
      'offline_file_outdated',
      'airgap_key_not_configured',
      'airgap_confirmation_invalid',
      'airgap_policy_invalid',
      'airgap_policy_mismatch',
    ],
    handle: async ({ body, caller }) => {
      const { license_policy: policy = null, license_key: licenseKey = null } = body;
      const { policy_id: policyId = null, confirmation_code: confirmationCode = null } = body;
      const wish = { policy, licenseKey, policyId, confirmationCode };
      return licenseReply(await offline.installPolicy(wish, caller.actor));
    },
  });
}

function licenseReply(result: Awaited<ReturnType<Offline['install']>>): Reply {
  if ('kind' in result) return refusalReply(result);
  return jsonText(presentLicense({ ...result, registration: null }));
}
