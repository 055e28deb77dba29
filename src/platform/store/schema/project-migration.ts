/** Projects, their resources, and their deployments. */
export const projects = {
  name: '0056-projects',
  statements: [
    `create table projects (
      id text primary key,
      account_id text not null references accounts (id) on delete cascade,
      logical_id text not null, name text not null, repo_url text,
      created bigint not null, updated bigint,
      unique (account_id, logical_id))`,
    `create table project_resources (
      project_id text not null references projects (id) on delete cascade,
      type text not null, logical_id text not null, physical_id text not null,
      member integer not null, import_id text,
      primary key (project_id, type, logical_id))`,
    `create index project_resources_by_id on project_resources (type, physical_id)`,
    `create table deployments (
      id text primary key,
      account_id text not null references accounts (id) on delete cascade,
      project_logical_id text not null, status text not null,
      request {json}, caller {json} not null, progress integer not null,
      error_code text, error_message text, result {json},
      worker text, worker_until bigint,
      created bigint not null, started bigint, ended bigint, cancel_requested bigint)`,
    `create unique index deployments_live on deployments (account_id, project_logical_id)
      where status in ('PENDING', 'RUNNING')`,
    `create index deployments_by_project on deployments (account_id, project_logical_id, created)`,
    `create table project_imports (
      id text primary key,
      project_id text not null references projects (id) on delete cascade,
      changes {json} not null,
      created bigint not null, applied bigint, committed bigint)`,
    `create index project_imports_by_project on project_imports (project_id, created)`,
  ],
} as const;
