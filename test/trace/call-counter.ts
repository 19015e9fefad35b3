/** How often each function of the sources ran, by file and position. */
export type Calls = ReadonlyMap<string, number>;

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
  }[];
}

/** Ends when the event loop has gone round. */
const LOOP_TURNS = 'new Promise((resolve) => setImmediate(() => setImmediate(resolve)))';

type Post = (text: string) => void;

/** One thread of a process, as its inspector offers it. */
class InspectedThread {
  readonly #post: Post;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();

  constructor(post: Post) {
    this.#post = post;
  }

  call(method: string, params: object = {}): Promise<unknown> {
    const id = this.#waiting.size + 1;
    const answer = Promise.withResolvers<unknown>();
    this.#waiting.set(id, answer);
    this.#post(JSON.stringify({ id, method, params }));
    return answer.promise;
  }

  hear({ id = 0, result, error }: Message): void {
    if (error === undefined) this.#waiting.get(id)?.resolve(result);
    else this.#waiting.get(id)?.reject(new Error(error.message));
  }

  async startCounting(): Promise<void> {
    await this.call('Profiler.enable');
    await this.call('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  }

  async takeCounts(): Promise<readonly ScriptCoverage[]> {
    return ((await this.call('Profiler.takePreciseCoverage')) as { result: ScriptCoverage[] }).result;
  }
}

/**
 * Counts the calls of functions in all threads of a process that runs with `--inspect`, by V8's precise
 * coverage. The process needs no code for it.
 */
export class CallCounter {
  readonly #socket: WebSocket;
  readonly #main: InspectedThread;
  readonly #workers = new Map<string, InspectedThread>();
  readonly #folder: string;

  /** `folder`: the URL of the sources to count. */
  private constructor(socket: WebSocket, folder: string) {
    this.#socket = socket;
    this.#folder = folder;
    this.#main = new InspectedThread((text) => socket.send(text));
    socket.addEventListener('message', ({ data }) => this.#hear(JSON.parse(String(data)) as Message));
  }

  static async connect(url: string, folder: string): Promise<CallCounter> {
    const socket = new WebSocket(url);
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve);
      socket.addEventListener('error', () => reject(new Error(`There is no inspector at ${url}.`)));
    });
    const counter = new CallCounter(socket, folder);
    await counter.#main.call('NodeWorker.enable', { waitForDebuggerOnStart: false });
    for (const thread of counter.#threads()) await thread.startCounting();
    return counter;
  }

  #threads(): readonly InspectedThread[] {
    return [this.#main, ...this.#workers.values()];
  }

  #hear(message: Message): void {
    const { sessionId = '', message: text = '' } = (message.params ?? {}) as Readonly<Record<string, string>>;
    if (message.method === 'NodeWorker.attachedToWorker') {
      const post = (call: string) =>
        void this.#main.call('NodeWorker.sendMessageToWorker', { sessionId, message: call });
      this.#workers.set(sessionId, new InspectedThread(post));
    } else if (message.method === 'NodeWorker.receivedMessageFromWorker') {
      this.#workers.get(sessionId)?.hear(JSON.parse(text) as Message);
    } else {
      this.#main.hear(message);
    }
  }

  /** The calls since the last time. Loading a module is none. */
  async take(): Promise<Calls> {
    // What the process does after its answer, too.
    await this.#main.call('Runtime.evaluate', { expression: LOOP_TURNS, awaitPromise: true });
    const calls = new Map<string, number>();
    for (const thread of this.#threads()) {
      for (const { url, functions } of await thread.takeCounts()) {
        if (!url.startsWith(this.#folder)) continue;
        for (const { functionName, ranges } of functions) {
          const [{ startOffset, count } = { startOffset: 0, count: 0 }] = ranges;
          if (count === 0 || startOffset === 0) continue;
          const key = `${url.slice(this.#folder.length)}:${startOffset}:${functionName}`;
          calls.set(key, (calls.get(key) ?? 0) + count);
        }
      }
    }
    return calls;
  }

  close(): void {
    this.#socket.close();
  }
}

/** The file of a function. */
export function fileOf(key: string): string {
  return key.slice(0, key.indexOf(':'));
}
