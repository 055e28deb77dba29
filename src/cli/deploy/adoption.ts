import { idOf } from '@picket/protocol/projects/kind.ts';
import { type Folder, kinds } from '@picket/protocol/projects/kinds.ts';
import { projectRoutes } from '@picket/protocol/projects/project.ts';
import { type ProjectImport, projectImportRoutes } from '@picket/protocol/projects/project-import.ts';
import { ApiError } from '../api/api-error.ts';
import type { ApiClient } from '../api/client.ts';
import type { Stored } from '../project/export.ts';

/** Resources of an account that a project would adopt, and their names. Nothing is changed before `finish`. */
export interface Adoption {
  /** Selects the resources that the project adopts; those of other projects stay there. */
  readonly adopted: (stored: readonly Stored[]) => readonly Stored[];
  readonly nameOf: (folder: Folder, id: string | number) => string | undefined;
  finish(): Promise<void>;
  /** Discards the plan. */
  cancel(): Promise<void>;
}

/** @throws ApiError if the project already exists and has resources. */
export async function planAdoption(
  api: ApiClient,
  project: { readonly logicalId: string; readonly name: string },
): Promise<Adoption> {
  const params = { logicalId: project.logicalId };
  const known = (await api.call(projectRoutes.listProjects)).find(
    ({ logicalId }) => logicalId === project.logicalId,
  );
  if (known && known.resourceCount > 0) {
    throw new ApiError(
      `The project ${project.logicalId} already exists, with ${known.resourceCount} resources. Use --project to choose another name.`,
      true,
    );
  }
  if (!known) await api.call(projectRoutes.createProject, { body: project });
  const filters = kinds.map(({ type }) => ({ type: 'include', resource: { type } }));
  const body = { filters };
  const plan: ProjectImport = await api.call(projectImportRoutes.createProjectImport, { params, body });
  const names = new Map(
    plan.changes.resources.flatMap(({ type, payload, logicalId }) => {
      const kind = kinds.find((one) => one.type === type);
      return kind ? [[`${kind.folder}/${idOf(kind, payload)}`, logicalId] as const] : [];
    }),
  );
  const nameOf = (folder: Folder, id: string | number) => names.get(`${folder}/${id}`);
  const of = { params: { importId: plan.id } };
  return {
    adopted: (stored) => stored.filter(({ folder, id }) => nameOf(folder, id) !== undefined),
    nameOf,
    async finish() {
      await api.call(projectImportRoutes.applyProjectImport, of);
      await api.call(projectImportRoutes.commitProjectImport, of);
    },
    async cancel() {
      await api.call(projectImportRoutes.cancelProjectImport, of);
    },
  };
}
