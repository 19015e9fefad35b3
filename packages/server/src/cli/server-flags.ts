/** Many waiting clients teach V8 that what a request needs lives long; it then keeps that of all others. */
export const SERVER_FLAGS = '--no-allocation-site-pretenuring';
