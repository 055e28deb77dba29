import { parentPort, workerData } from 'node:worker_threads';
import { trustAlso } from '@picket/lib/ca-directory.ts';
import { toError } from '@picket/lib/errors.ts';
import { connectPostgres } from '@picket/platform/store/engine/connect-postgres.ts';
import { asStoreError, connectSqliteToRead } from '@picket/platform/store/engine/dialect.ts';
import {
  cancelStatement,
  type PostgresSession,
} from '@picket/platform/store/engine/postgres/cancel-statement.ts';
import { type UnreadableValue, unreadableValues } from '@picket/platform/store/stored-json.ts';
import type { Tables } from '@picket/platform/store/tables.ts';
import type { Kysely, KyselyPlugin } from 'kysely';
import { checkCoverages } from '../../coverage/coverage-query.ts';
import { dayCache } from '../../coverage/day-slots.ts';
import { SlotDays } from '../../coverage/slot-days.ts';
import { type ColumnSource, columnCache, ResultColumns } from '../columns/result-columns.ts';
import { FedResults } from '../fed-results.ts';
import {
  type AnalyticsReply,
  type AnalyticsRequest,
  type AnalyticsStart,
  type Question,
  stoppedAt,
} from './analytics-thread.ts';
import { reportAggregates } from './report-aggregates.ts';
import { answer, columnsFor } from './series.ts';

/** Ten million results with three columns of three bytes. */
const cacheBytes = 96 * 1024 * 1024;
/** 90 days of 500 checks that mostly passed. */
const daysBytes = 24 * 1024 * 1024;

/**
 * Worker thread that answers questions about many results: it has its own read-only connection. See
 * analytics-thread.ts.
 */
const port = parentPort;
if (!port) throw new Error('this file is the entry of a worker thread');
const { place, stopped } = workerData as AnalyticsStart;
const { databaseUrl, directUrl, replicaUrl, path, clickHouseUrl } = place;
trustAlso(place.caCertificates ?? []);
const clickHouse =
  clickHouseUrl === undefined
    ? undefined
    : (await import('@picket/clickhouse/column-source.ts')).clickHouseColumns(clickHouseUrl);
// Replica use is logged by the connections of the main thread.
const observer = { used: () => undefined, passedOver: () => undefined };
let session: PostgresSession | undefined;
const connection =
  databaseUrl === undefined
    ? connectSqliteToRead(path)
    : // Connections that break between two questions are noticed by the next one.
      connectPostgres({
        ...{ databaseUrl, directUrl, maxConnections: 1 },
        replica: replicaUrl === undefined ? undefined : { url: replicaUrl, observer },
        onPoolError: () => undefined,
        onAcquired: (client) => {
          session = client;
        },
      });
const { dialect } = connection;
const readColumns = columnCache(cacheBytes);
const readDays = dayCache(daysBytes);

/** The question being answered, and the pending cancellation of its statement. */
let answering: number | undefined;
let cancelling: Promise<void> | undefined;

const isStopped = (id: number) => Atomics.load(stopped, stoppedAt(id)) === id;

/** Rejects further statements of a stopped question. On SQLite, where no message arrives meanwhile, this ends it. */
function untilStopped(id: number): KyselyPlugin {
  return {
    transformQuery({ node }) {
      if (isStopped(id)) throw new Error('its answer is no longer wanted');
      return node;
    },
    transformResult: async ({ result }) => result,
  };
}

/** First unreadable value of each column since the last reply: a question may encounter a million. */
const unreadable: UnreadableValue[] = [];
unreadableValues.subscribe((message) => {
  const value = message as UnreadableValue;
  if (!unreadable.some(({ column }) => column === value.column)) unreadable.push(value);
});

async function reply(id: number, question: Question): Promise<AnalyticsReply> {
  answering = id;
  try {
    // One connection per question: a replica and the primary may differ in what is sealed.
    const asked = (connection.readers ?? connection.db)
      .connection()
      .execute((db) => answerOn(db.withPlugin(untilStopped(id)), question));
    return { id, answer: await asked, clickHouse: clickHouse?.takeReadState() };
  } catch (thrown) {
    const error = toError(thrown);
    const known = asStoreError(error);
    const problem = {
      message: error.message,
      stack: error.stack ?? '',
      unavailable: known === error ? undefined : known.message,
      isStopped: isStopped(id),
    };
    return { id, problem, clickHouse: clickHouse?.takeReadState() };
  } finally {
    answering = undefined;
    // A cancellation that arrives late must not end the next statement.
    await cancelling;
    cancelling = undefined;
  }
}

async function answerOn(db: Kysely<Tables>, question: Question): Promise<AnalyticsReply['answer']> {
  const columns = new ResultColumns(db, dialect, readColumns);
  // A small amount of data for many checks: one ClickHouse query per check would take longer.
  if (question.kind === 'report') return reportAggregates({ db, dialect, columns }, question.query);
  if (question.kind === 'coverage') {
    return checkCoverages(new SlotDays(db, dialect, readDays), question.query);
  }
  const { query } = question;
  const source: ColumnSource = clickHouse ? clickHouse.over(columns, new FedResults(db, dialect)) : columns;
  return answer(query, await source.read(query.checkId, query, columnsFor(query)));
}

let last: Promise<unknown> = Promise.resolve();
port.on('message', ({ id, question }: AnalyticsRequest) => {
  if (question === undefined) {
    if (id === answering && session) cancelling = cancelStatement(session);
    return;
  }
  // Sequential: each may need memory for a million numbers.
  last = last.then(async () => {
    const replied = await reply(id, question);
    port.postMessage({ ...replied, unreadable: unreadable.splice(0) } satisfies AnalyticsReply);
  });
});
