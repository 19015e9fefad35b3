import { isAbsolute } from 'node:path';
import type { SETTING_SOURCES } from '@berth/protocol/admin/choices';
import { RequestError } from '@berth/protocol/request-error';
import { suggest } from '@berth/protocol/suggest';
import {
  type Config,
  ConfigError,
  checkSetting,
  envOf,
  flagOf,
  readSetting,
  showSetting,
  withValues,
} from '../../config.ts';
import type { Actor } from '../../core/nouns/actor.ts';
import { Fault } from '../../core/nouns/fault.ts';
import type { Instant } from '../../core/nouns/instant.ts';
import type { SettingValue, StoredSetting } from '../../core/nouns/stored-setting.ts';
import type { SettingChange } from '../../core/system-command.ts';
import type { Setting } from '../../setting.ts';
import { SETTINGS } from '../../settings.ts';
import type { Store } from '../../store/store.ts';

/** A setting with its value in force, and where that comes from. */
interface SettingDescription {
  readonly name: string;
  /** Without secrets. */
  readonly value: SettingValue;
  readonly source: (typeof SETTING_SOURCES)[number];
  /** The flag, the variable or the file that the value comes from. */
  readonly place: string | null;
  readonly isLive: boolean;
  readonly changedBy: string | null;
  readonly changedAt: Instant | null;
  readonly about: string;
  readonly choices: readonly string[] | null;
}

/** The settings in force now. Read them from here when they are needed, as they may change. */
export interface CurrentSettings {
  readonly current: Config;
}

/** Throws a `Fault` if this server could not use the new value. */
export type CheckNewValue = (value: SettingValue) => void;

/** Values are part of every answer about the settings, and of an audit event. */
const MAX_VALUE_LENGTH = 2000;

/**
 * The settings in force. Flags, environment and file are read at start and count before the store, whose
 * values are below them and can be changed at any time. All servers on one database read them every second.
 */
export class LiveSettings implements CurrentSettings {
  current: Config;
  readonly #store: Store;
  readonly #given: Config;
  readonly #checks: Readonly<Record<string, CheckNewValue>>;
  #stored: readonly StoredSetting[] = [];

  constructor(store: Store, given: Config, checks: Readonly<Record<string, CheckNewValue>> = {}) {
    this.#store = store;
    this.#given = given;
    this.#checks = checks;
    this.current = given;
  }

  /** Takes over what is in the store. */
  async refresh(): Promise<void> {
    const stored = await this.#store.read({ kind: 'list_settings' });
    if (JSON.stringify(stored) === JSON.stringify(this.#stored)) return;
    this.#stored = stored;
    const values = SETTINGS.map((setting) => {
      const found = this.#findStored(setting);
      return [setting.path, found?.value ?? readSetting(this.#given, setting.path)] as const;
    });
    this.current = withValues(values, this.#given.sources);
  }

  async describe(): Promise<readonly SettingDescription[]> {
    await this.refresh();
    return SETTINGS.map((setting) => this.#describeOne(setting));
  }

  /** `null` removes a stored value. Changes all of them, or refuses with the name of the wrong one. */
  async change(values: Readonly<Record<string, unknown>>, by: Actor): Promise<void> {
    const changes = Object.entries(values).map(([name, value]) => this.#checkChange(name, value));
    await this.#store.execute({ kind: 'change_settings', changes, by });
    await this.refresh();
  }

  #describeOne(setting: Setting): SettingDescription {
    const { path: name, isLive = false, about, oneOf: choices = null } = setting;
    const stored = this.#findStored(setting);
    const given = this.#given.sources.get(name);
    return {
      name,
      value: showSetting(setting, readSetting(this.current, name)),
      source: given?.kind ?? (stored === null ? 'default' : 'stored'),
      place: given?.place ?? null,
      isLive,
      changedBy: stored?.changedBy ?? null,
      changedAt: stored?.changedAt ?? null,
      about,
      choices,
    };
  }

  /** Returns null if the value does not count, or is not one that this version allows. */
  #findStored(setting: Setting): StoredSetting | null {
    if (setting.isLive !== true || this.#given.sources.has(setting.path)) return null;
    const found = this.#stored.find(({ name }) => name === setting.path);
    if (found === undefined) return null;
    try {
      return { ...found, value: checkSetting(setting, found.value) };
    } catch {
      return null;
    }
  }

  #checkChange(name: string, given: unknown): SettingChange {
    const setting = SETTINGS.find(({ path }) => path === name);
    if (setting === undefined) {
      const known = SETTINGS.filter(({ isLive }) => isLive).map(({ path }) => path);
      throw refuseValue(name, `There is no setting "${name}".${suggest(name, known)}`);
    }
    this.#requireChangeable(setting);
    if (given === null) return { name, value: null, shown: null };
    const value = checkValue(setting, given);
    if (value !== '') this.#requireUsable(name, value);
    return { name, value, shown: showSetting(setting, value) };
  }

  #requireUsable(name: string, value: SettingValue): void {
    try {
      this.#checks[name]?.(value);
    } catch (error) {
      if (error instanceof Fault) throw refuseValue(name, error.message);
      throw error;
    }
  }

  #requireChangeable({ path, isLive }: Setting): void {
    const given = this.#given.sources.get(path);
    if (given !== undefined) {
      throw refuseChange(path, `is fixed by ${given.place}. Change or remove it there`);
    }
    if (isLive === true) return;
    const ways = `berth.yaml, ${envOf(path)} or --${flagOf(path)}`;
    throw refuseChange(path, `is read only when the server starts. Set it in ${ways}`);
  }
}

function checkValue(setting: Setting, given: unknown): SettingValue {
  const { path, isPath, findFault } = setting;
  try {
    const value = checkSetting(setting, given);
    if (JSON.stringify(value).length > MAX_VALUE_LENGTH) {
      throw new ConfigError(`"${path}" must not be longer than ${MAX_VALUE_LENGTH} characters.`);
    }
    const fault = findFault?.(value) ?? null;
    if (fault !== null) throw new ConfigError(fault);
    if (isPath !== undefined && findFault === undefined && value !== '' && !isAbsolute(String(value))) {
      throw new ConfigError(`"${path}" must be an absolute path, such as /var/backups/berth.`);
    }
    return value;
  } catch (error) {
    if (error instanceof ConfigError) throw refuseValue(path, error.message);
    throw error;
  }
}

function refuseChange(field: string, why: string): RequestError {
  const message = `"${field}" ${why}, and restart the server.`;
  return new RequestError('setting_not_changeable', message, { field });
}

function refuseValue(field: string, message: string): RequestError {
  return new RequestError('validation_error', message, { field });
}
