/** Analyses of the causes of error groups, finished and pending. */
export const rootCauseAnalyses = {
  name: '0062-root-cause-analyses',
  statements: [
    `create table root_cause_analyses (
      id text primary key,
      account_id text not null references accounts (id) on delete cascade,
      group_id text not null references error_groups (id) on delete cascade,
      group_kind text not null, automatic integer not null,
      provider text not null, model text not null,
      content {json}, duration_ms double precision,
      user_context text, verdict text,
      created bigint not null, completed bigint, due bigint)`,
    `create index root_cause_analyses_by_group on root_cause_analyses (group_id, created, id)`,
    `create index root_cause_analyses_by_account on root_cause_analyses (account_id)`,
    `create index root_cause_analyses_due on root_cause_analyses (due) where due is not null`,
  ],
} as const;

/** Plans that runs of checks leave for later runs. */
export const checkPlans = {
  name: '0063-check-plans',
  statements: [
    `create table check_plans (
      check_id text not null references checks (id) on delete cascade,
      version integer not null,
      account_id text not null references accounts (id) on delete cascade,
      reason text not null, result_id text not null, content {json} not null,
      created bigint not null,
      primary key (check_id, version))`,
    `create index check_plans_by_account on check_plans (account_id)`,
  ],
} as const;

/** Model contributions to analyses, and when to request them. */
export const analysesByModels = {
  name: '0067-analyses-by-models',
  statements: [
    `alter table root_cause_analyses add column model_content {json}`,
    `alter table root_cause_analyses add column model_due bigint`,
    `alter table root_cause_analyses add column model_tries integer not null default 0`,
    `create index root_cause_analyses_model_due on root_cause_analyses (model_due) where model_due is not null`,
  ],
} as const;
