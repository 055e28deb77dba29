import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { QueryBoolean } from '../http/query.ts';
import { created, defineRoutes } from '../http/route.ts';
import { LogicalId, ProjectResourceType } from './project.ts';

const PhysicalId = lazySchema(() => z.union([z.int(), z.string()]));

const ImportInput = lazySchema(() =>
  z
    .object({
      filters: z
        .array(
          z.object({
            type: z.enum(['include', 'exclude']),
            resource: z
              .object({ type: z.string().max(64), physicalId: PhysicalId.schema.optional() })
              .optional()
              .describe('Absent: every resource; without physicalId: every resource of the type'),
          }),
        )
        .max(10_000)
        .optional()
        .describe('The last filter that matches a resource decides; absent: all resources are imported'),
      friends: z
        .array(z.object({ type: z.string().max(64), logicalId: z.string().max(255) }))
        .max(10_000)
        .optional()
        .describe('Resources that the code already has, so that imported ones can refer to them'),
    })
    .meta({ id: 'ProjectImportInput' }),
);

export const ImportChanges = lazySchema(() =>
  z
    .object({
      resources: z.array(
        z.object({
          type: ProjectResourceType.schema,
          logicalId: z.string().describe('Name of the resource in the project'),
          physicalId: PhysicalId.schema,
          member: z.literal(true),
          payload: z
            .record(z.string(), z.unknown())
            .describe("In the format of the resource's own operation"),
        }),
      ),
      friends: z.array(
        z.object({ type: ProjectResourceType.schema, logicalId: z.string(), physicalId: PhysicalId.schema }),
      ),
      auxiliary: z
        .array(
          z.object({
            type: z.literal('snippet'),
            physicalId: PhysicalId.schema,
            payload: z.record(z.string(), z.unknown()),
          }),
        )
        .describe('Snippets that the resources refer to, for programs that store them separately'),
    })
    .meta({ id: 'ProjectImportChanges' }),
);
export type ImportChanges = z.output<typeof ImportChanges.schema>;

export const ProjectImport = lazySchema(() =>
  z
    .object({
      id: z.string(),
      createdAt: z.iso.datetime(),
      appliedAt: z.iso.datetime().nullable(),
      committedAt: z.iso.datetime().nullable(),
      changes: ImportChanges.schema,
    })
    .meta({ id: 'ProjectImport' }),
);
export type ProjectImport = z.output<typeof ProjectImport.schema>;
const ofProject = z.object({ logicalId: LogicalId.schema });
const ofImport = z.object({ importId: z.uuid() });
const states = z.object({
  onlyUnapplied: QueryBoolean.default(false),
  onlyUncommitted: QueryBoolean.default(false),
});

export const projectImportRoutes = defineRoutes('Projects', 'account', {
  createProjectImport: {
    method: 'POST',
    path: '/next/projects/{logicalId}/imports',
    summary: 'Plan which resources of the account the project takes over, and their names',
    params: ofProject,
    query: lazySchema(() =>
      z.object({ preview: QueryBoolean.default(false).describe('true: the plan is not stored') }),
    ),
    body: ImportInput,
    success: created,
    response: ProjectImport,
  },
  listImportsOfProject: {
    method: 'GET',
    path: '/next/projects/{logicalId}/imports',
    summary: 'Imports of a project, newest first',
    params: ofProject,
    query: states,
    response: lazySchema(() => z.array(ProjectImport.schema)),
  },
  listProjectImports: {
    method: 'GET',
    path: '/next/projects/imports',
    summary: 'Imports of all projects, newest first',
    query: states,
    response: lazySchema(() => z.array(ProjectImport.schema)),
  },
  applyProjectImport: {
    method: 'POST',
    path: '/next/projects/imports/{importId}/apply',
    summary:
      'Apply an import: the resources become part of the project; until it is committed, no deployment deletes them',
    params: ofImport,
    otherErrors: [409],
    response: ProjectImport,
  },
  commitProjectImport: {
    method: 'POST',
    path: '/next/projects/imports/{importId}/commit',
    summary:
      'Commit an applied import: deployments then delete its resources if they are removed from the code',
    params: ofImport,
    response: ProjectImport,
  },
  cancelProjectImport: {
    method: 'DELETE',
    path: '/next/projects/imports/{importId}',
    summary: 'Cancel an import that is not committed; the resources stay unchanged',
    params: ofImport,
  },
});
