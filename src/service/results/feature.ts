import { defineFeature, type RepositoriesOf } from '../feature/feature.ts';
import { Artifacts } from './artifacts/store.ts';
import { CodeBundles } from './bundles/store.ts';
import { FedResults } from './clickhouse/feed-store.ts';
import { ResultColumns } from './columns/result-columns.ts';
import { DetailCounts } from './details/detail-counts.ts';
import { ErrorGroups } from './error-groups/store.ts';
import { Reports } from './report-store.ts';
import { Statuses } from './status-store.ts';
import { Results } from './store.ts';

export const results = defineFeature({
  name: 'results',
  repositories: {
    codeBundles: CodeBundles,
    results: Results,
    detailCounts: DetailCounts,
    resultColumns: ResultColumns,
    fedResults: FedResults,
    statuses: Statuses,
    artifacts: Artifacts,
    reports: Reports,
    errorGroups: ErrorGroups,
  },
});

declare module '../store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof results> {}
}
