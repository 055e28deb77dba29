import { type RawBuilder, sql } from 'kysely';

/** The rows behind a cursor, in a list ordered by creation time and id, newest first. */
export function isBehind(cursor: { readonly created: number; readonly id: string }): RawBuilder<boolean> {
  return sql<boolean>`(created < ${cursor.created} or (created = ${cursor.created} and id < ${cursor.id}))`;
}
