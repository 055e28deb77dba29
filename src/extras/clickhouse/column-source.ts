import { systemClock } from '@picket/lib/clock.ts';
import type { ColumnSource, ResultColumns } from '@picket/service/results/columns/result-columns.ts';
import type { FedResults } from '@picket/service/results/fed-results.ts';
import { ClickHouseServer } from './clickhouse-server.ts';
import { type ClickHouseReadState, ClickHouseState, FedColumns } from './fed-columns.ts';

/** Columns of results from ClickHouse, for one thread. */
export interface ClickHouseColumns {
  /** Reads what was fed from ClickHouse, and the rest, or all of it while ClickHouse does not answer, from the store. */
  over(columns: ResultColumns, fed: FedResults): ColumnSource;
  /** What was found out about ClickHouse since the last call; undefined when it was not contacted. */
  takeReadState(): ClickHouseReadState | undefined;
}

export function clickHouseColumns(url: string): ClickHouseColumns {
  const state = new ClickHouseState(new ClickHouseServer(url), systemClock);
  return {
    over: (columns, fed) => new FedColumns(columns, fed, state),
    takeReadState: () => state.takeReadState(),
  };
}
