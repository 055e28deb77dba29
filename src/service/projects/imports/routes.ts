import { randomUUID } from 'node:crypto';
import { AppError } from '@picket/lib/errors.ts';
import { type AnyHandler, handlersById, iso, optionalIso } from '@picket/platform/feature/handler.ts';
import { found } from '@picket/platform/http/known-names.ts';
import { Operations } from '@picket/platform/operations/operations.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import { ProjectResourceType } from '@picket/protocol/projects/project.ts';
import {
  type ImportChanges,
  type ProjectImport,
  projectImportRoutes,
} from '@picket/protocol/projects/project-import.ts';
import { physicalIdOf } from '../kinds/index.ts';
import { type ProjectDeps, refuseBusy } from '../routes.ts';
import type { ProjectImportRow, ProjectRow } from '../tables.ts';
import { assignments, candidates, planned } from './candidates.ts';

const storedChanges = storedValue<Stored>('project_imports.changes', {
  changes: { resources: [], friends: [], auxiliary: [] },
  ids: {},
});

/** Stored content of an import: its changes, and the id by which the project will know each resource. */
interface Stored {
  readonly changes: ImportChanges;
  readonly ids: Readonly<Record<string, string>>;
}

/**
 * Routes of imports. An import is planned, applied and committed. Once it is applied, the resources belong to the
 * project, but until it is committed, deployments that do not name them do not delete them, and it can be cancelled.
 */
export function projectImportHandlers(
  deps: Pick<ProjectDeps, 'store' | 'clock' | 'handlersOn'>,
): [string, AnyHandler][] {
  const { store, clock, handlersOn } = deps;
  const projectNamed = async (accountId: string, logicalId: string): Promise<ProjectRow> =>
    found(await store.projects.find(accountId, logicalId), `project "${logicalId}"`);
  const importNamed = async (repositories: Pick<Repositories, 'projects'>, accountId: string, id: string) =>
    found(await repositories.projects.findImport(accountId, id), `import ${id}`);

  return handlersById(projectImportRoutes, {
    async createProjectImport({ caller, params, query, body, request }) {
      const { accountId } = caller;
      const project = await projectNamed(accountId, params.logicalId);
      const operations = new Operations({ handlers: handlersOn(store), caller, request });
      const some = await candidates(store, operations, accountId, body.filters ?? []);
      if (some.length === 0) throw new AppError('NOT_FOUND', 'No importable resources were found.');
      const rows = await store.projects.resources(project.id);
      const taken = new Set(rows.map((row) => `${row.type} ${row.logical_id}`));
      const { resources, ids } = planned(some, taken);
      const locations = await store.locations.listBehind(accountId);
      const locationIds = new Map(locations.map((row) => [row.slug_name, row.id]));
      const friends = (body.friends ?? []).flatMap(({ type, logicalId }) => {
        const row = rows.find((one) => one.type === type && one.logical_id === logicalId);
        const known = ProjectResourceType.safeParse(type);
        return row && known.success
          ? [{ type: known.data, logicalId, physicalId: physicalIdOf(type, row.physical_id) }]
          : [];
      });
      const snippetIds = new Set(
        some.flatMap(({ payload }) =>
          [payload.setupSnippetId, payload.tearDownSnippetId].filter((id) => typeof id === 'number'),
        ),
      );
      const snippets = await Promise.all([...snippetIds].map((id) => store.snippets.find(accountId, id)));
      const auxiliary = snippets.flatMap((snippet): ImportChanges['auxiliary'] => {
        if (!snippet) return [];
        const { id, name, script } = snippet;
        return [{ type: 'snippet', physicalId: id, payload: { id, name, script } }];
      });
      const changes = { resources: [...resources, ...assignments(some, locationIds)], friends, auxiliary };
      const stored: Stored = { changes, ids: Object.fromEntries(ids) };
      const row: ProjectImportRow = {
        id: randomUUID(),
        project_id: project.id,
        changes: JSON.stringify(stored),
        created: clock.wallMs(),
        applied: null,
        committed: null,
      };
      if (!query.preview) await store.projects.insertImport(row);
      return view(row);
    },
    async listImportsOfProject({ caller: { accountId }, params, query }) {
      const project = await projectNamed(accountId, params.logicalId);
      return (await store.projects.imports(accountId, project.id)).filter(isAsked(query)).map(view);
    },
    async listProjectImports({ caller: { accountId }, query }) {
      return (await store.projects.imports(accountId)).filter(isAsked(query)).map(view);
    },
    async applyProjectImport({ caller: { accountId }, params }) {
      return store.transaction(async (repositories) => {
        const row = await importNamed(repositories, accountId, params.importId);
        if (row.applied !== null) throw outOfOrder('has already been applied');
        const project = (await repositories.projects.list(accountId)).find(({ id }) => id === row.project_id);
        await refuseBusy({ store: repositories }, accountId, project?.logical_id ?? '');
        await refuseTaken(repositories, accountId, row);
        const rows = Object.entries(storedOf(row).ids).map(([key, physicalId]) => {
          const [type = '', logicalId = ''] = key.split(' ', 2);
          return {
            type,
            logical_id: logicalId,
            physical_id: physicalId,
            member: 1 as const,
            import_id: row.id,
          };
        });
        await repositories.projects.put(row.project_id, rows);
        const applied = clock.wallMs();
        await repositories.projects.stampImport(row.id, { applied });
        return view({ ...row, applied });
      });
    },
    async commitProjectImport({ caller: { accountId }, params }) {
      return store.transaction(async (repositories) => {
        const row = await importNamed(repositories, accountId, params.importId);
        if (row.applied === null) throw outOfOrder('has not been applied yet');
        if (row.committed !== null) throw outOfOrder('has already been committed');
        const committed = clock.wallMs();
        await repositories.projects.keepImported(row.id);
        await repositories.projects.stampImport(row.id, { committed });
        return view({ ...row, committed });
      });
    },
    async cancelProjectImport({ caller: { accountId }, params }) {
      await store.transaction(async (repositories) => {
        const row = await importNamed(repositories, accountId, params.importId);
        if (row.committed !== null) throw outOfOrder('has been committed and can no longer be cancelled');
        await repositories.projects.deleteImport(row.id);
      });
    },
  });
}

/** @throws AppError CONFLICT if a resource has joined a project since the import was planned. */
async function refuseTaken(
  repositories: Pick<Repositories, 'projects'>,
  accountId: string,
  row: ProjectImportRow,
): Promise<void> {
  const managed = await repositories.projects.managed(accountId);
  const owners = new Map(managed.map((one) => [`${one.type} ${one.physical_id}`, one]));
  const names = new Set(
    managed.filter((one) => one.project_id === row.project_id).map((one) => `${one.type} ${one.logical_id}`),
  );
  for (const [key, physicalId] of Object.entries(storedOf(row).ids)) {
    const [type] = key.split(' ', 1);
    const owner = owners.get(`${type} ${physicalId}`);
    if (owner) {
      throw new AppError(
        'CONFLICT',
        `The ${type} ${physicalId} is of the project "${owner.project_logical_id}" now. Cancel this import and create another one.`,
      );
    }
    if (names.has(key)) {
      throw new AppError(
        'CONFLICT',
        `The project has a ${type} of that name now: ${key}. Create another import.`,
      );
    }
  }
}

function isAsked(query: { readonly onlyUnapplied: boolean; readonly onlyUncommitted: boolean }) {
  return ({ applied, committed }: ProjectImportRow) =>
    (!query.onlyUnapplied || applied === null) && (!query.onlyUncommitted || committed === null);
}

function storedOf({ changes }: ProjectImportRow): Stored {
  return storedChanges(changes);
}

function view(row: ProjectImportRow): ProjectImport {
  return {
    id: row.id,
    createdAt: iso(row.created),
    appliedAt: optionalIso(row.applied),
    committedAt: optionalIso(row.committed),
    changes: storedOf(row).changes,
  };
}

function outOfOrder(why: string): AppError {
  return new AppError('IMPORT_OUT_OF_ORDER', `The import ${why}.`);
}
