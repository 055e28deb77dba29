import { systemClock } from '@picket/lib/clock.ts';
import type { ColumnSource, ResultColumns } from '@picket/service/results/columns/result-columns.ts';
import type { FedResults } from '@picket/service/results/fed-results.ts';
import { ClickHouseServer } from './clickhouse-server.ts';
import { type ClickHouseReadState, ClickHouseState, FedColumns } from './fed-columns.ts';

/** Columns of results from ClickHouse, for one thread. */
export interface ClickHouseColumns {
  /**
   * Reads fed results from ClickHouse and the others from the store, or all of them while ClickHouse is unavailable.
   */
  over(columns: ResultColumns, fed: FedResults): ColumnSource;
  /** State of ClickHouse as found since the last call; undefined if it was not contacted. */
  takeReadState(): ClickHouseReadState | undefined;
}

export function clickHouseColumns(url: string): ClickHouseColumns {
  const state = new ClickHouseState(new ClickHouseServer(url), systemClock);
  return {
    over: (columns, fed) => new FedColumns(columns, fed, state),
    takeReadState: () => state.takeReadState(),
  };
}
