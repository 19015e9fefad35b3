import type { PostAnswer } from '@berth/protocol/admin/admin-api';
import { useEffect, useRef, useState } from 'preact/hooks';
import { readNow } from '../../clock.ts';
import { type ApiError, postFor, toApiError, whenFree } from '../../data/api.ts';
import { session } from '../../data/session.ts';
import { createValue, useValue } from '../../data/value.ts';
import type { Replay } from '../../words/replay.ts';
import type { RulesInForce } from '../../words/rules.ts';

interface Kept {
  readonly account: string | undefined;
  readonly text: string;
  /** The revision that is edited, and its text. */
  readonly basedOn: number;
  readonly base: string;
}

/** What is not applied yet stays while its account looks at other screens. */
const kept = createValue<Kept | null>(null);

export type RulesDraft = ReturnType<typeof useRulesDraft>;

/** The text that is being edited; the one in force if there is none, or if it cannot be edited. */
export function useRulesDraft(rules: RulesInForce, canEdit: boolean) {
  const { revision, written_in: writtenIn, text: inForce } = rules;
  const all = useValue(kept);
  const found = canEdit && all?.account === session.get()?.name ? all : null;
  const { text, basedOn, base } = found ?? { text: inForce, basedOn: revision, base: inForce };
  const keep = (change: Pick<Kept, 'text' | 'basedOn' | 'base'>) =>
    kept.set(change.text === change.base ? null : { account: session.get()?.name, ...change });
  return {
    text,
    basedOn,
    base,
    isChanged: found !== null,
    /** Another text came into force meanwhile. */
    isOvertaken: found !== null && (basedOn < writtenIn || basedOn > revision),
    set: (next: string) => keep({ text: next, basedOn, base }),
    /** The draft becomes a change of the revision in force. */
    rebase: () => keep({ text, basedOn: revision, base: inForce }),
    discard: () => kept.set(null),
  };
}

/** How long nothing is typed before the text is checked. */
const PAUSE_MS = 400;

export interface Checked extends PostAnswer<'/api/admin/rules/check'> {
  readonly text: string;
  readonly at: number;
}

/** What the server says about a text, soon after it was typed. */
export function useChecked(text: string, isOn: boolean) {
  const [checked, setChecked] = useState<Checked | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  useEffect(() => {
    if (!isOn) return;
    const control = new AbortController();
    const { signal } = control;
    const timer = setTimeout(async () => {
      try {
        const response = await whenFree(() => postFor('/api/admin/rules/check', { text }, signal), signal);
        setChecked({ ...(await response.json()), text, at: readNow() });
        setError(null);
      } catch (failure) {
        if (!signal.aborted) setError(toApiError(failure));
      }
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [text, isOn]);
  return { checked, error };
}

export type Trial = ReturnType<typeof useTrial>;

/** Replays the last 30 days against a text. */
export function useTrial() {
  const control = useRef<AbortController | null>(null);
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const [result, setResult] = useState<{ readonly text: string; readonly replay: Replay } | null>(null);
  const stop = () => {
    control.current?.abort();
    setRunning(false);
  };
  useEffect(() => () => control.current?.abort(), []);
  const start = async (text: string) => {
    control.current?.abort();
    const own = new AbortController();
    control.current = own;
    setRunning(true);
    setError(null);
    try {
      const body = { text, since: '30d' };
      const response = await whenFree(() => postFor('/api/admin/rules/try', body, own.signal), own.signal);
      const replay = (await response.json()) as Replay;
      if (!own.signal.aborted) setResult({ text, replay });
    } catch (failure) {
      if (!own.signal.aborted) setError(toApiError(failure));
    }
    if (control.current === own) setRunning(false);
  };
  return { isRunning, error, result, start, stop };
}
