import { RequestError } from '@berth/protocol/request-error';
import { isReadableName, nameOfPerson, recordedId } from '../../core/access/person.ts';
import {
  type GroupRoles,
  normalizeDn,
  normalizeGroups,
  roleOfGroups,
  sayNoRole,
} from '../../core/access/role-of-groups.ts';
import { type Absent, type Directory, type Person, ProviderFault } from '../../providers/sign-in-provider.ts';
import { unavailable } from './single-sign-on.ts';
import { hashToken, makeToken, type Tokens } from './tokens.ts';

/** People who have no account, and whose passwords the directory of the company checks. */
export interface DirectoryPeople {
  /** `null`: nobody there has this name and this password. */
  find(name: string, password: string, signal?: AbortSignal): Promise<Person | Absent | null>;
  /** Returns a new token. */
  admit(person: Person, from: Arrival, execute: Tokens['execute']): Promise<string>;
  /** What is wrong with the directory; `null`: nothing. */
  findFault(): Promise<string | null>;
}

interface Arrival {
  readonly address: string;
  readonly isBrowser: boolean;
}

export function createDirectoryPeople(directory: Directory, roles: GroupRoles): DirectoryPeople {
  const normal = normalizeGroups(roles);
  return {
    async find(name, password, signal) {
      try {
        return await directory.find(name, password, signal);
      } catch (error) {
        throw error instanceof ProviderFault ? unavailable(error) : error;
      }
    },
    async admit({ subject, name: own, groups }, { address, isBrowser }, execute) {
      const name = [own, subject].find(isReadableName) ?? '?';
      const standing = roleOfGroups((groups ?? []).map(normalizeDn), normal);
      const reason = standing === null ? sayNoRole(name, groups ?? [], 'auth.ldap') : null;
      const token = makeToken();
      await execute({
        kind: 'sign_in_person',
        account: nameOfPerson('ldap', name),
        subject: recordedId(subject),
        address,
        session: standing === null ? null : { tokenHash: hashToken(token), ...standing },
        reason,
        isBrowser,
        attempt: null,
        shownAgoMs: 0,
      });
      if (reason !== null) throw new RequestError('sign_in_refused', reason);
      return token;
    },
    async findFault() {
      try {
        await directory.probe();
        return null;
      } catch (error) {
        if (error instanceof ProviderFault) return error.message;
        throw error;
      }
    },
  };
}
