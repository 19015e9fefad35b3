/** Returning a slot takes no longer, even if no server answers. Tests on a busy machine raise it. */
export const releaseLimit = { longestMs: 2000 };
