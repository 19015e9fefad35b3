import { RequestError } from '@berth/protocol/request-error';

/**
 * A queue that no client can fill for others. Waiting requests form a tree by origin: wide networks, the
 * networks within, and the addresses within those. At every level the branches take turns, so a new client
 * waits for about one round, however many requests and addresses of a network the others have.
 *
 * When the queue is full, the request that would be served last is rejected: the newest of the branch with
 * the most waiting, level by level; among equals, of the branch served most recently. So a client that has
 * been idle is not rejected in favour of those that keep asking.
 */
interface FairQueue {
  /**
   * `path`: from the widest network to the place itself. Rejects with `too_many_requests`. `signal`: the
   * client has disconnected and no longer waits.
   */
  run<T>(path: readonly string[], work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Rejects all waiting requests; running ones continue. */
  dismiss(): void;
}

interface FairQueueOptions {
  /** How many run at once. */
  readonly atOnce: number;
  /** How many wait, from all places together. */
  readonly mostWaiting: number;
  /** The message for a rejected request. */
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

/** How many branches are remembered by their last turn; the one idle longest is forgotten. */
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

  /** Whether the first of two branches is served after the second, or has been at least as busy. */
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

  /** Passes the turn to the next request, or frees it. */
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

/** A new branch gets its first turn after all others of its level. */
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

/** Moves the branch behind the others of its level after its turn. */
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
  return new RequestError('bad_request', 'The client disconnected.');
}

function takeLast(branch: Branch, isLater: (a: Entry, b: Entry) => boolean): Waiter {
  branch.waiting -= 1;
  if (branch.children.size === 0) return branch.waiters.pop() as Waiter;
  const [name, child] = [...branch.children].reduce((last, entry) => (isLater(entry, last) ? entry : last));
  const waiter = takeLast(child, isLater);
  if (child.waiting === 0) branch.children.delete(name);
  return waiter;
}
