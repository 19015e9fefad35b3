/**
 * The maximum size of a license as JSON, in a cloud answer or a file. Servers refuse larger ones, so vendors
 * must not grant them.
 */
export const MAX_LICENSE_BYTES = 1024 * 1024;

/** The same in a file, which is base64. */
export const MAX_LICENSE_FILE_BYTES = 4 * Math.ceil(MAX_LICENSE_BYTES / 3);
