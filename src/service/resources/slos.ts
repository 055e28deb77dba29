import { sloApi, sloRoutes } from '@picket/protocol/results/slo.ts';
import { Slos } from '../slos/store.ts';
import { defineResource } from './resource.ts';

/** Service level objectives. */
export const slos = defineResource(
  sloApi,
  Slos,
)({
  migrations: [
    {
      name: '0034-slos',
      statements: [
        `create table slos (
          id {serial}, account_id text not null references accounts (id) on delete cascade,
          definition {json} not null, created bigint not null, updated bigint)`,
        `create index slos_by_account on slos (account_id, created, id)`,
      ],
    },
    {
      name: '0040-slo-burns',
      statements: [
        `create table slo_burns (
          slo_id bigint primary key, account_id text not null references accounts (id) on delete cascade,
          alert_id text not null, burn_window text not null, since bigint not null)`,
        `create index slo_burns_by_account on slo_burns (account_id, since)`,
      ],
    },
  ],
  parts: sloRoutes,
  columns: ({ checkId, ...definition }) => ({
    definition: JSON.stringify({ ...definition, checkId: checkId?.toLowerCase() ?? null }),
  }),
  view: ({ id, definition }) => ({ ...definition, id }),
});
