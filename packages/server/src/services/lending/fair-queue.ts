import { RequestError } from '../request-error.ts';

/**
 * A queue that nobody can fill for others. Whoever waits is sorted into a tree by where they come from: wide
 * networks, the networks within, and the addresses within those. At every level the branches take turns, one
 * each, so a newcomer waits for about one round, however much the others ask for and however many addresses
 * of a network they have.
 *
 * When the queue is full, the one who would be served last has to go: the newest of the branch with the most
 * waiting, level by level; among equals of the one that had its turn last. So somebody who has not asked for
 * a while is not turned away in favour of those who keep asking.
 */
interface FairQueue {
  /**
   * `path`: from the widest network to the place itself. Rejects with `too_many_requests`. `signal`: whoever
   * asks has gone away, and waits no longer.
   */
  run<T>(path: readonly string[], work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Sends away everybody who waits; what runs goes on. */
  dismiss(): void;
}

interface FairQueueOptions {
  /** So many run at once. */
  readonly atOnce: number;
  /** So many wait, from all places together. */
  readonly mostWaiting: number;
  /** The message for whoever has to go. */
  readonly refusal: string;
}

interface Branch {
  readonly children: Map<string, Branch>;
  /** Only at the end of a path. */
  readonly waiters: Waiter[];
  /** Here and below. */
  waiting: number;
}

interface Waiter {
  begin(): void;
  sendAway(error: Error): void;
}

/** So many branches are remembered by their last turn; the one that was silent longest is forgotten. */
const MAX_REMEMBERED = 20_000;

export function createFairQueue({ atOnce, mostWaiting, refusal }: FairQueueOptions): FairQueue {
  const root = createBranch();
  const lastTurns = new Map<string, number>();
  let running = 0;
  let turn = 0;

  function noteTurn(path: readonly string[]): void {
    turn += 1;
    for (const name of path) {
      lastTurns.delete(name);
      lastTurns.set(name, turn);
      if (lastTurns.size > MAX_REMEMBERED) lastTurns.delete(lastTurns.keys().next().value as string);
    }
  }

  /** Whether the first of two branches is served after the second, or is at least no quieter. */
  const isLater = ([name, branch]: Entry, [otherName, other]: Entry) =>
    branch.waiting === other.waiting
      ? (lastTurns.get(name) ?? 0) >= (lastTurns.get(otherName) ?? 0)
      : branch.waiting > other.waiting;

  async function waitForTurn(path: readonly string[], signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) throw goneAway();
    if (running < atOnce) {
      running += 1;
      noteTurn(path);
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter = { begin: resolve, sendAway: reject };
    const leave = () => withdraw(root, path, waiter) && reject(goneAway());
    signal?.addEventListener('abort', leave, { once: true });
    enqueue(root, path, waiter);
    if (root.waiting > mostWaiting) {
      takeLast(root, isLater).sendAway(new RequestError('too_many_requests', refusal));
    }
    try {
      await promise;
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  }

  /** The turn goes to the next in line, or back. */
  function passTurn(): void {
    if (root.waiting === 0) {
      running -= 1;
      return;
    }
    const path: string[] = [];
    const next = takeFirst(root, path);
    noteTurn(path);
    next.begin();
  }

  return {
    async run(path, work, signal) {
      await waitForTurn(path, signal);
      try {
        return await work();
      } finally {
        passTurn();
      }
    },
    dismiss() {
      while (root.waiting > 0) takeFirst(root, []).sendAway(new RequestError('too_many_requests', refusal));
    },
  };
}

type Entry = [name: string, branch: Branch];

function createBranch(): Branch {
  return { children: new Map(), waiters: [], waiting: 0 };
}

/** A new branch has its first turn after all others of its level. */
function enqueue(root: Branch, path: readonly string[], waiter: Waiter): void {
  let branch = root;
  branch.waiting += 1;
  for (const name of path) {
    const child = branch.children.get(name) ?? createBranch();
    branch.children.set(name, child);
    child.waiting += 1;
    branch = child;
  }
  branch.waiters.push(waiter);
}

/** The branch that has had its turn goes behind the others of its level. */
function takeFirst(branch: Branch, path: string[]): Waiter {
  branch.waiting -= 1;
  const [first] = branch.children;
  if (first === undefined) return branch.waiters.shift() as Waiter;
  const [name, child] = first;
  path.push(name);
  const waiter = takeFirst(child, path);
  branch.children.delete(name);
  if (child.waiting > 0) branch.children.set(name, child);
  return waiter;
}

/** Whether it was still waiting. */
function withdraw(branch: Branch, [name, ...rest]: readonly string[], waiter: Waiter): boolean {
  if (name === undefined) {
    const index = branch.waiters.indexOf(waiter);
    if (index === -1) return false;
    branch.waiters.splice(index, 1);
  } else {
    const child = branch.children.get(name);
    if (child === undefined || !withdraw(child, rest, waiter)) return false;
    if (child.waiting === 0) branch.children.delete(name);
  }
  branch.waiting -= 1;
  return true;
}

function goneAway(): RequestError {
  return new RequestError('bad_request', 'The client went away.');
}

function takeLast(branch: Branch, isLater: (a: Entry, b: Entry) => boolean): Waiter {
  branch.waiting -= 1;
  if (branch.children.size === 0) return branch.waiters.pop() as Waiter;
  const [name, child] = [...branch.children].reduce((last, entry) => (isLater(entry, last) ? entry : last));
  const waiter = takeLast(child, isLater);
  if (child.waiting === 0) branch.children.delete(name);
  return waiter;
}
