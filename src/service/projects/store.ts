import { batches } from '@picket/platform/store/engine/queries.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { ProjectImportRow, ProjectResourceRow, ProjectRow } from './tables.ts';

/** Projects, their resources, and imports. */
export class Projects extends Repository {
  async find(accountId: string, logicalId: string): Promise<ProjectRow | undefined> {
    return this.db
      .selectFrom('projects')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('logical_id', '=', logicalId)
      .executeTakeFirst();
  }

  async list(accountId: string): Promise<ProjectRow[]> {
    return this.db
      .selectFrom('projects')
      .selectAll()
      .where('account_id', '=', accountId)
      .orderBy('name')
      .orderBy('id')
      .execute();
  }

  /** Number of resources of each project of an account, by project id. */
  async resourceCounts(accountId: string): Promise<Map<string, number>> {
    const rows = await this.db
      .selectFrom('project_resources')
      .innerJoin('projects', 'projects.id', 'project_resources.project_id')
      .select((eb) => ['project_id', eb.fn.countAll<number>().as('count')])
      .where('projects.account_id', '=', accountId)
      .where('member', '=', 1)
      .groupBy('project_id')
      .execute();
    return new Map(rows.map((row) => [row.project_id, Number(row.count)]));
  }

  /** Fails with a unique violation if the account has a project with that logical id. */
  async insert(row: ProjectRow): Promise<void> {
    await this.db.insertInto('projects').values(row).execute();
  }

  async update(
    id: string,
    change: Pick<ProjectRow, 'name' | 'updated'> & Partial<Pick<ProjectRow, 'repo_url'>>,
  ): Promise<void> {
    await this.db.updateTable('projects').set(change).where('id', '=', id).execute();
  }

  async delete(id: string): Promise<void> {
    await this.db.deleteFrom('projects').where('id', '=', id).execute();
  }

  async resources(projectId: string): Promise<ProjectResourceRow[]> {
    return this.db
      .selectFrom('project_resources')
      .selectAll()
      .where('project_id', '=', projectId)
      .orderBy('type')
      .orderBy('logical_id')
      .execute();
  }

  /** All resources of an account that belong to a project, with the project. */
  async managed(accountId: string): Promise<(ProjectResourceRow & { project_logical_id: string })[]> {
    return this.db
      .selectFrom('project_resources')
      .innerJoin('projects', 'projects.id', 'project_resources.project_id')
      .selectAll('project_resources')
      .select('projects.logical_id as project_logical_id')
      .where('projects.account_id', '=', accountId)
      .where('member', '=', 1)
      .execute();
  }

  /** The given resources that belong to a project, by id: the project, and their names in it. */
  async managedAmong(
    accountId: string,
    type: string,
    physicalIds: readonly string[],
  ): Promise<Map<string, { readonly project: { logicalId: string; name: string }; logicalId: string }>> {
    const pages = await Promise.all(
      [...batches(physicalIds)].map((ids) =>
        this.db
          .selectFrom('project_resources')
          .innerJoin('projects', 'projects.id', 'project_resources.project_id')
          .select(['physical_id', 'project_resources.logical_id as own_logical_id'])
          .select(['projects.logical_id', 'projects.name'])
          .where('project_resources.type', '=', type)
          .where('physical_id', 'in', ids)
          .where('projects.account_id', '=', accountId)
          .where('member', '=', 1)
          .execute(),
      ),
    );
    return new Map(
      pages.flat().map((row) => {
        const project = { logicalId: row.logical_id, name: row.name };
        return [row.physical_id, { project, logicalId: row.own_logical_id }];
      }),
    );
  }

  /** Inserts or replaces resources of a project by their names. */
  async put(projectId: string, rows: readonly Omit<ProjectResourceRow, 'project_id'>[]): Promise<void> {
    for (const batch of batches(rows)) {
      await this.db
        .insertInto('project_resources')
        .values(batch.map((row) => ({ project_id: projectId, ...row })))
        .onConflict((conflict) =>
          conflict.columns(['project_id', 'type', 'logical_id']).doUpdateSet((eb) => ({
            physical_id: eb.ref('excluded.physical_id'),
            member: eb.ref('excluded.member'),
            import_id: eb.ref('excluded.import_id'),
          })),
        )
        .execute();
    }
  }

  /** Replaces the resources of a project; those of an uncommitted import stay. */
  async replaceResources(
    projectId: string,
    rows: readonly Omit<ProjectResourceRow, 'project_id'>[],
  ): Promise<void> {
    await this.db
      .deleteFrom('project_resources')
      .where('project_id', '=', projectId)
      .where('import_id', 'is', null)
      .execute();
    await this.put(projectId, rows);
  }

  async remove(projectId: string, type: string, logicalId: string): Promise<void> {
    await this.db
      .deleteFrom('project_resources')
      .where('project_id', '=', projectId)
      .where('type', '=', type)
      .where('logical_id', '=', logicalId)
      .execute();
  }

  async insertImport(row: ProjectImportRow): Promise<void> {
    await this.db.insertInto('project_imports').values(row).execute();
  }

  /** Imports of an account, of one project or of all, newest first. */
  async imports(accountId: string, projectId?: string): Promise<ProjectImportRow[]> {
    const query = this.db
      .selectFrom('project_imports')
      .innerJoin('projects', 'projects.id', 'project_imports.project_id')
      .selectAll('project_imports')
      .where('projects.account_id', '=', accountId)
      .orderBy('project_imports.created', 'desc')
      .orderBy('project_imports.id');
    return (projectId === undefined ? query : query.where('project_id', '=', projectId)).execute();
  }

  async findImport(accountId: string, id: string): Promise<ProjectImportRow | undefined> {
    return this.db
      .selectFrom('project_imports')
      .innerJoin('projects', 'projects.id', 'project_imports.project_id')
      .selectAll('project_imports')
      .where('projects.account_id', '=', accountId)
      .where('project_imports.id', '=', id)
      .executeTakeFirst();
  }

  async stampImport(
    id: string,
    stamp: Partial<Pick<ProjectImportRow, 'applied' | 'committed'>>,
  ): Promise<void> {
    await this.db.updateTable('project_imports').set(stamp).where('id', '=', id).execute();
  }

  /** Makes the resources of an import regular resources of their project. */
  async keepImported(importId: string): Promise<void> {
    await this.db
      .updateTable('project_resources')
      .set({ import_id: null })
      .where('import_id', '=', importId)
      .execute();
  }

  /** Deletes an import and the resources it added to the project. */
  async deleteImport(id: string): Promise<void> {
    await this.db.deleteFrom('project_resources').where('import_id', '=', id).execute();
    await this.db.deleteFrom('project_imports').where('id', '=', id).execute();
  }
}
