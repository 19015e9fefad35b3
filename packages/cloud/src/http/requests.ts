import { addConsumptionRequest, addFeatureConsumptionRequest } from '@berth/protocol/api/consumption';
import { activateRequest, type checkQuery } from '@berth/protocol/cloud/cloud-requests';
import { z } from 'zod';

const { hardware_id, product, license_key, username, password, license_id } = activateRequest.shape;
const identification = { hardware_id, product, license_key, username, password, license_id };

/** Common to all license operations: the license and the machine. */
export type Identification = Partial<z.output<typeof checkQuery>>;

const MAX_REPORT_ID_LENGTH = 128;
const REPORT_ID = { error: `must be text of 1 to ${MAX_REPORT_ID_LENGTH} printable characters` };
const MAX_EVENTS = 16;

const reportFields = {
  event: z
    .union([z.string(), z.array(z.string()).max(MAX_EVENTS)], { error: 'must be a list of texts' })
    .nullish()
    .transform((value) => (typeof value === 'string' ? [value] : (value ?? []))),
  report_id: z
    .string(REPORT_ID)
    .regex(/^[\x20-\x7e]{1,128}$/, REPORT_ID)
    .nullish(),
};

const { consumptions, max_overages, allow_overages } = addConsumptionRequest.shape;
const counted = { consumptions, max_overages, allow_overages };

export const countRequest = z.object({ ...identification, ...counted, ...reportFields });
export const featureCountRequest = z.object({
  ...identification,
  ...counted,
  ...reportFields,
  feature: addFeatureConsumptionRequest.shape.feature,
});

export type CountFields = z.output<typeof countRequest>;
