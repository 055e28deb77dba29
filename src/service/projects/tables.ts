/** A project: resources of an account that are kept as code and written by deployments. */
export interface ProjectRow {
  id: string;
  account_id: string;
  logical_id: string;
  name: string;
  repo_url: string | null;
  created: number;
  updated: number | null;
}

/** Maps a resource of a project to a resource of the account. */
export interface ProjectResourceRow {
  project_id: string;
  type: string;
  logical_id: string;
  /** Id of the resource as text. */
  physical_id: string;
  /** 0: the project only references it. */
  member: 0 | 1;
  /** Import that added it, until that is committed: until then no deployment deletes it. */
  import_id: string | null;
}

/** A deployment or deletion of a project, carried out in the background. */
export interface DeploymentRow {
  id: string;
  account_id: string;
  project_logical_id: string;
  status: string;
  /** JSON: the request; null once it has ended. */
  request: string | null;
  /** JSON: the user who requested it. */
  caller: string;
  progress: number;
  error_code: string | null;
  error_message: string | null;
  /** JSON: the project and its changes. */
  result: string | null;
  /** Process that works on it, and when its claim expires. */
  worker: string | null;
  worker_until: number | null;
  created: number;
  started: number | null;
  ended: number | null;
  cancel_requested: number | null;
}

/** Resources of the account that are to be added to a project. */
export interface ProjectImportRow {
  id: string;
  project_id: string;
  /** JSON: the resources with their new names. */
  changes: string;
  created: number;
  applied: number | null;
  committed: number | null;
}

export interface ProjectTables {
  projects: ProjectRow;
  project_resources: ProjectResourceRow;
  deployments: DeploymentRow;
  project_imports: ProjectImportRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends ProjectTables {}
}
