import { parentPort, workerData } from 'node:worker_threads';
import type { Kysely } from 'kysely';
import { toError } from '../../../lib/errors.ts';
import { checkCoverages } from '../../coverage/coverage-query.ts';
import { dayCache } from '../../coverage/day-slots.ts';
import { SlotDays } from '../../coverage/slot-days.ts';
import { connectPostgres } from '../../store/engine/connect-postgres.ts';
import { asStoreError, connectSqliteToRead } from '../../store/engine/dialect.ts';
import type { StorePlace } from '../../store.ts';
import type { Tables } from '../../tables.ts';
import { columnCache, ResultColumns } from '../columns/result-columns.ts';
import type { AnalyticsReply, AnalyticsRequest, Question } from './analytics-thread.ts';
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
const { databaseUrl, directUrl, replicaUrl, path } = workerData as StorePlace;
// What goes where is logged by the connections of the main thread.
const observer = { used: () => undefined, passedOver: () => undefined };
const connection =
  databaseUrl === undefined
    ? connectSqliteToRead(path)
    : // What breaks between two questions is noticed by the next one.
      connectPostgres({
        ...{ databaseUrl, directUrl, maxConnections: 1 },
        replica: replicaUrl === undefined ? undefined : { url: replicaUrl, observer },
        onPoolError: () => undefined,
      });
const { dialect } = connection;
const readColumns = columnCache(cacheBytes);
const readDays = dayCache(daysBytes);

async function reply({ id, question }: AnalyticsRequest): Promise<AnalyticsReply> {
  try {
    // One connection for a question: a replica and the database itself may differ in what is sealed.
    const asked = (connection.readers ?? connection.db).connection().execute((db) => answerOn(db, question));
    return { id, answer: await asked };
  } catch (thrown) {
    const error = toError(thrown);
    const isUnavailable = asStoreError(error) !== error;
    return { id, problem: { message: error.message, stack: error.stack ?? '', isUnavailable } };
  }
}

async function answerOn(db: Kysely<Tables>, question: Question): Promise<AnalyticsReply['answer']> {
  const columns = new ResultColumns(db, dialect, readColumns);
  if (question.kind === 'report') return reportAggregates({ db, dialect, columns }, question.query);
  if (question.kind === 'coverage') {
    return checkCoverages(new SlotDays(db, dialect, readDays), question.query);
  }
  const { query } = question;
  return answer(query, await columns.read(query.checkId, query, columnsFor(query)));
}

let last: Promise<unknown> = Promise.resolve();
port.on('message', (request: AnalyticsRequest) => {
  // One after the other: each may need the memory of a million numbers.
  last = last.then(async () => port.postMessage(await reply(request)));
});
