/** What an account keeps as code: resources that are written by deployments. */
export interface ProjectRow {
  id: string;
  account_id: string;
  logical_id: string;
  name: string;
  repo_url: string | null;
  created: number;
  updated: number | null;
}

/** Which resource of the account stands for one of a project. */
export interface ProjectResourceRow {
  project_id: string;
  type: string;
  logical_id: string;
  /** The id of the resource as text. */
  physical_id: string;
  /** 0: the project only names it. */
  member: 0 | 1;
  /** The import that it came with, until that is committed: so long no deployment deletes it. */
  import_id: string | null;
}

/** A deployment, or the deletion of a project, which is worked on in the background. */
export interface DeploymentRow {
  id: string;
  account_id: string;
  project_logical_id: string;
  status: string;
  /** JSON: what is to be done; null when it has ended. */
  request: string | null;
  /** JSON: who asked for it. */
  caller: string;
  progress: number;
  error_code: string | null;
  error_message: string | null;
  /** JSON: the project and what was changed. */
  result: string | null;
  /** The process that works on it, and until when that counts. */
  worker: string | null;
  worker_until: number | null;
  created: number;
  started: number | null;
  ended: number | null;
  cancel_requested: number | null;
}

/** Resources of the account that are to become those of a project. */
export interface ProjectImportRow {
  id: string;
  project_id: string;
  /** JSON: the resources with the names they get. */
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
