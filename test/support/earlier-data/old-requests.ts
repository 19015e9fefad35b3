import { authorizationHeader, type CloudKeys } from '@berth/protocol/cloud/cloud-authorization';
import { HARDWARE_ID, KEYS } from './facts.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A request as sent by an earlier server. */
interface OldRequest {
  readonly name: string;
  readonly method: 'GET' | 'POST';
  readonly operation: string;
  readonly fields: Fields;
}

/** The response of an earlier cloud. */
export interface OldAnswer {
  readonly name: string;
  readonly status: number;
  readonly contentType: string | null;
  readonly body: string;
}

const CAD = { hardware_id: HARDWARE_ID, product: 'cad', license_key: KEYS.cad };
const ELSEWHERE = { ...CAD, hardware_id: 'somewhere-else' };
const REPORT = { ...CAD, consumptions: 6, event: ['offline_floating_consumptions_sync'], report_id: 'r-1' };
const HOST = { hostname: 'ada', os_ver: 'Linux', app_ver: '0.1.0', sdk_ver: 'berth 0.1.0' };

/** In this order, on the data in this folder. */
export const OLD_REQUESTS: readonly OldRequest[] = [
  { name: 'probe', method: 'GET', operation: 'product_details', fields: {} },
  { name: 'check', method: 'GET', operation: 'check_license', fields: CAD },
  { name: 'activation again', method: 'POST', operation: 'activate_license', fields: { ...CAD, ...HOST } },
  { name: 'report', method: 'POST', operation: 'add_consumption', fields: REPORT },
  { name: 'report again', method: 'POST', operation: 'add_consumption', fields: REPORT },
  {
    name: 'report of a feature',
    method: 'POST',
    operation: 'add_feature_consumption',
    fields: { ...REPORT, feature: 'export', report_id: 'r-2' },
  },
  { name: 'check on no device', method: 'GET', operation: 'check_license', fields: ELSEWHERE },
  {
    name: 'check of no license',
    method: 'GET',
    operation: 'check_license',
    fields: { ...CAD, license_key: 'NONE-NONE-NONE-NONE' },
  },
  { name: 'deactivation', method: 'POST', operation: 'deactivate_license', fields: CAD },
  { name: 'deactivation again', method: 'POST', operation: 'deactivate_license', fields: CAD },
];

export async function sendOldRequest(url: string, keys: CloudKeys, request: OldRequest): Promise<Response> {
  const { method, operation, fields } = request;
  const date = new Date().toUTCString();
  const headers = { date, authorization: authorizationHeader(keys, date), accept: 'application/json' };
  if (method === 'GET') {
    const query = new URLSearchParams(Object.entries(fields).map(([name, value]) => [name, String(value)]));
    return fetch(`${url}/api/v4/${operation}${query.size === 0 ? '' : `?${query}`}`, { headers });
  }
  const body = JSON.stringify(fields);
  const typed = { ...headers, 'content-type': 'application/json' };
  return fetch(`${url}/api/v4/${operation}`, { method, headers: typed, body });
}
