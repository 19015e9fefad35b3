/**
 * How large a license may be: the JSON that a cloud answers with, and that a file holds. Servers refuse more,
 * so whoever grants a license has to stay below it.
 */
export const MOST_LICENSE_BYTES = 1024 * 1024;

/** The same in a file, which is base64. */
export const MOST_LICENSE_FILE_BYTES = 4 * Math.ceil(MOST_LICENSE_BYTES / 3);
