import { connect } from 'node:net';

/** Whether somebody listens on a port of this machine; `undefined` if not, as `pollUntil` expects it. */
export function canConnect(port: number): Promise<true | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port }, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(undefined));
  });
}
