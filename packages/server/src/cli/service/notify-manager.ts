import { execFile } from 'node:child_process';

/**
 * Tells systemd, if it waits for that, that the server is ready or about to stop. Node cannot open such a
 * socket, so the program that comes with systemd sends the message. The server does not wait for it.
 */
export function notifyManager(
  env: NodeJS.ProcessEnv,
  facts: readonly string[],
  warn: (sentence: string) => void,
): void {
  if ((env.NOTIFY_SOCKET ?? '') === '') return;
  execFile('systemd-notify', facts, { env }, (error) => {
    if (error !== null) warn(`systemd was not told ${facts[0]}: ${error.message.trim()}`);
  });
}
