/**
 * Tables of the database. Each noun declares its own in its `tables.ts` and adds them here (`declare module`). Rows
 * have the form in which both engines return them: times are epoch milliseconds, booleans are 0 or 1, JSON is text,
 * parsed in one place (the repository of the noun). Rows of plain resources are known to their own repositories only.
 */
// biome-ignore lint/suspicious/noEmptyInterface: nouns add to it
export interface Tables {}
