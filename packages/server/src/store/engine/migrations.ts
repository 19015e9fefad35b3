/**
 * In order; a migration's number is its place in this list. Once one is released it never changes, and a
 * change of the schema is a new one at the end. Every store has a file of each name.
 */
export const MIGRATIONS = ['0001-schema.sql'] as const;

export const SCHEMA_VERSION = MIGRATIONS.length;
