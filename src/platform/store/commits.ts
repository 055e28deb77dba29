import { AsyncLocalStorage } from 'node:async_hooks';
import { errorCodeOf, toError } from '@picket/lib/errors.ts';

/** Whether work may have changed the database. */
export interface CommitWatch {
  mayHaveCommitted: boolean;
}

const watches = new AsyncLocalStorage<CommitWatch | undefined>();

/** Runs work and records in `watch` whether it committed, or may have committed: a broken connection leaves it open. */
export function watchCommits<T>(watch: CommitWatch, work: () => T): T {
  return watches.run(watch, work);
}

/** Runs writes that are not part of the watched work, such as its row in the audit log. */
export function unwatched<T>(work: () => T): T {
  return watches.run(undefined, work);
}

/**
 * Watches one attempt of a transaction: its statements count once it is committed. The attempt calls `finished` right
 * before the commit: an earlier failure was rolled back.
 */
export async function watchTransaction<T>(attempt: (finished: () => void) => Promise<T>): Promise<T> {
  const outer = watches.getStore();
  if (!outer) return attempt(() => undefined);
  const inner: CommitWatch = { mayHaveCommitted: false };
  let isFinished = false;
  const finished = () => {
    isFinished = true;
  };
  try {
    const done = await watches.run(inner, () => attempt(finished));
    outer.mayHaveCommitted ||= inner.mayHaveCommitted;
    return done;
  } catch (thrown) {
    outer.mayHaveCommitted ||= inner.mayHaveCommitted && isFinished && isOpen(toError(thrown));
    throw thrown;
  }
}

const writes = /\b(?:insert into|delete from|merge into)\b|(?<!\bfor )(?<!\bno key )\bupdate\b/i;

/** Records a statement, and its error if it failed. */
export function recordStatement(text: string, error?: unknown): void {
  const watch = watches.getStore();
  if (!watch || watch.mayHaveCommitted || !writes.test(text)) return;
  watch.mayHaveCommitted = error === undefined || isOpen(toError(error));
}

/** SQLSTATEs after which a commit may have succeeded: the connection, the server process or its files broke. */
const openStates = /^(08|57P|58|XX)/;
const sqliteInputOutput = 10;

/** Whether a statement or a commit that failed with this error may have been executed. */
function isOpen(error: Error): boolean {
  if ('errcode' in error && typeof error.errcode === 'number') {
    return (error.errcode & 0xff) === sqliteInputOutput;
  }
  // An error response of the server means that it did not execute the statement.
  const code = errorCodeOf(error) ?? '';
  return !/^[0-9A-Z]{5}$/.test(code) || !('severity' in error) || openStates.test(code);
}
