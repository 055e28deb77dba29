import { AsyncLocalStorage } from 'node:async_hooks';
import { errorCodeOf, toError } from '@picket/lib/errors.ts';

/** Whether some work may have left something in the database. */
export interface CommitWatch {
  mayHaveCommitted: boolean;
}

const watches = new AsyncLocalStorage<CommitWatch | undefined>();

/** Does work and notes in `watch` what it commits, or may have committed: a connection that breaks leaves it open. */
export function watchCommits<T>(watch: CommitWatch, work: () => T): T {
  return watches.run(watch, work);
}

/** Writes that are no part of the work, such as its row in the audit log. */
export function unwatched<T>(work: () => T): T {
  return watches.run(undefined, work);
}

/**
 * One attempt of a transaction: its statements count once it is committed. `finished` is to be called right before the
 * commit: a transaction that failed earlier was rolled back.
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

/** Hears of each statement, and of the error that it failed with. */
export function recordStatement(text: string, error?: unknown): void {
  const watch = watches.getStore();
  if (!watch || watch.mayHaveCommitted || !writes.test(text)) return;
  watch.mayHaveCommitted = error === undefined || isOpen(toError(error));
}

/** SQLSTATEs after which a commit may be there: the connection, the server process or its files broke. */
const openStates = /^(08|57P|58|XX)/;
const sqliteInputOutput = 10;

/** Whether a statement or a commit that failed with this error may have been carried out. */
function isOpen(error: Error): boolean {
  if ('errcode' in error && typeof error.errcode === 'number') {
    return (error.errcode & 0xff) === sqliteInputOutput;
  }
  // What the server answers says that it did not carry it out.
  const code = errorCodeOf(error) ?? '';
  return !/^[0-9A-Z]{5}$/.test(code) || !('severity' in error) || openStates.test(code);
}
