import {
  API,
  type Check,
  type Expectation,
  get,
  type Need,
  needsAlone,
  post,
  refuses,
  type Subject,
  status,
} from './check.ts';
import type { Received, Sent } from './exchange.ts';

/** A call that ends what all users hold. */
interface EndAll {
  readonly paths: readonly string[];
  readonly isOptional?: true;
  readonly needs: Need;
  readonly what: string;
  readonly answer: readonly Expectation[];
  readonly take: (subject: Subject) => readonly Sent[];
  /** Refused with `code` when there is nothing to give back. */
  readonly giveBack: (subject: Subject) => Sent;
  readonly code: string;
}

const isAlone = needsAlone('it ends the slots of others');
const isEmpty = ({ text }: Received) => (text === '' ? null : 'the body is not empty');

const whoOf = ({ aim, user }: Subject) => ({ ...aim, user });
const register = (subject: Subject) => post('register', whoOf(subject));
const onFeature = (subject: Subject) => ({ ...whoOf(subject), feature: subject.floatingFeature });

const SLOTS: Omit<EndAll, 'paths'> = {
  needs: isAlone,
  what: 'frees every slot',
  answer: [status(200), isEmpty],
  take: (subject) => [register(subject)],
  giveBack: (subject) => post('unregister', whoOf(subject)),
  code: 'device_not_found',
};

const FEATURE_SLOTS: Omit<EndAll, 'paths'> = {
  needs: (subject, options) =>
    subject.floatingFeature === null ? 'the license has no feature with slots' : isAlone(subject, options),
  what: 'frees every slot of a feature',
  answer: [status(200)],
  take: (subject) => [register(subject), post('featureRegister', onFeature(subject))],
  giveBack: (subject) => post('featureRelease', onFeature(subject)),
  code: 'floating_feature_device_not_in_use',
};

const CALLS: readonly EndAll[] = [
  { ...SLOTS, paths: ['unregister/all'] },
  { ...SLOTS, paths: ['floating/unregister/all'], isOptional: true },
  { ...FEATURE_SLOTS, paths: ['featureRelease/all', 'feature_release/all'] },
];

/** Clients send it with either method. The answer is judged alone, and then what it has done. */
function checkCall({ paths, needs, isOptional, ...call }: EndAll): readonly Check[] {
  const requests = paths.flatMap((path) => [post(path, {}), get(`${API}/${path}`)]);
  return requests.flatMap((request): readonly Check[] => {
    const name = `${request.method} ${request.path.slice(API.length)}`;
    const facts = { call: name, needs, isAdministrative: true, ...(isOptional && { isOptional }) } as const;
    const { take, giveBack, what, answer, code } = call;
    return [
      { ...facts, what: 'answers as it should', send: () => [request], expect: answer },
      {
        ...facts,
        what,
        send: (subject) => [...take(subject), request, giveBack(subject)],
        expect: [refuses(400, code)],
      },
    ];
  });
}

export const END_ALL_CHECKS: readonly Check[] = CALLS.flatMap(checkCall);
