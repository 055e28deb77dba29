import { parentPort, workerData } from 'node:worker_threads';
import { toError } from '../../../lib/errors.ts';
import { checkCoverages } from '../../coverage/coverage-query.ts';
import { dayCache } from '../../coverage/day-slots.ts';
import { SlotDays } from '../../coverage/slot-days.ts';
import { connectPostgres } from '../../store/engine/connect-postgres.ts';
import { asStoreError, connectSqliteToRead } from '../../store/engine/dialect.ts';
import type { StorePlace } from '../../store.ts';
import { columnCache, ResultColumns } from '../columns/result-columns.ts';
import type { AnalyticsReply, AnalyticsRequest } from './analytics-thread.ts';
import { reportAggregates } from './report-aggregates.ts';
import { answer, columnsFor } from './series.ts';

/** Ten million results with three columns of three bytes. */
const cacheBytes = 96 * 1024 * 1024;
/** 90 days of 500 checks that were mostly well. */
const daysBytes = 24 * 1024 * 1024;

/**
 * The thread that answers questions about many results: it reads by itself and only reads. See
 * analytics-thread.ts.
 */
const port = parentPort;
if (!port) throw new Error('this file is the entry of a worker thread');
const { databaseUrl, directUrl, path } = workerData as StorePlace;
const { db, dialect } =
  databaseUrl === undefined
    ? connectSqliteToRead(path)
    : // What breaks between two questions is noticed by the next one.
      connectPostgres({ databaseUrl, directUrl, onPoolError: () => undefined, maxConnections: 1 });
const columns = new ResultColumns(db, dialect, columnCache(cacheBytes));
const slotDays = new SlotDays(db, dialect, dayCache(daysBytes));

async function reply({ id, question }: AnalyticsRequest): Promise<AnalyticsReply> {
  try {
    if (question.kind === 'report') {
      return { id, answer: await reportAggregates({ db, dialect, columns }, question.query) };
    }
    if (question.kind === 'coverage') return { id, answer: await checkCoverages(slotDays, question.query) };
    const { query } = question;
    const frame = await columns.read(query.checkId, query, columnsFor(query));
    return { id, answer: answer(query, frame) };
  } catch (thrown) {
    const error = toError(thrown);
    const isUnavailable = asStoreError(error) !== error;
    return { id, problem: { message: error.message, stack: error.stack ?? '', isUnavailable } };
  }
}

let last: Promise<unknown> = Promise.resolve();
port.on('message', (request: AnalyticsRequest) => {
  // One after the other: each may need the memory of a million numbers.
  last = last.then(async () => port.postMessage(await reply(request)));
});
