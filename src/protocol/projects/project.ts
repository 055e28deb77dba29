import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { Paging, QueryBoolean, Timestamp } from '../http/query.ts';
import { accepted, created, defineRoutes, successful } from '../http/route.ts';
import { type KindName, kinds } from './kinds.ts';

/** Parts of other resources, which have no files of their own: alert subscriptions and locations. */
export const partTypes = [
  'alert-channel-subscription',
  'private-location-check-assignment',
  'private-location-group-assignment',
] as const;

/** Types of resources in a project. */
export type ProjectResourceType = KindName | (typeof partTypes)[number];
export const projectResourceTypes: readonly ProjectResourceType[] = [
  ...kinds.map(({ type }) => type),
  ...partTypes,
];
export const ProjectResourceType = lazySchema(() => z.enum(projectResourceTypes));

const maxResources = 5_000;
const maxFiles = 5_000;

/** A name that code gives to a project or to one of its resources. */
export const LogicalId = lazySchema(() =>
  z
    .string()
    .min(1)
    .max(255)
    .regex(/^[A-Za-z0-9_\-/#.]+$/, 'must consist of letters, digits and the characters _ - / # .'),
);
const PhysicalId = lazySchema(() => z.union([z.int().min(1), z.string().min(1).max(64)]));
export type PhysicalId = z.output<typeof PhysicalId.schema>;

export const ProjectInput = lazySchema(() =>
  z
    .object({
      logicalId: LogicalId.schema.refine(
        (id) => !/^\.{1,2}$/.test(id),
        'must not be "." or "..": it stands in addresses, where these mean something else',
      ),
      name: z.string().min(1).max(255),
      repoUrl: z.string().max(1000).nullish(),
    })
    .meta({ id: 'ProjectInput' }),
);
export type ProjectInput = z.output<typeof ProjectInput.schema>;

/** The check that uses a file validates its path and content again. */
const SharedFile = lazySchema(() =>
  z.object({
    path: z
      .string()
      .min(1)
      .max(1000)
      .refine(
        (path) => !/^[/\\]|^[A-Za-z]:|[\0\\]|(^|\/)\.\.(\/|$)/.test(path),
        'must be relative and stay below the folder of the project',
      ),
    content: z.string().max(1_000_000),
  }),
);
export type SharedFile = z.output<typeof SharedFile.schema>;

const ProjectResource = lazySchema(() =>
  z
    .object({
      type: ProjectResourceType.schema,
      logicalId: LogicalId.schema.describe('Unique within its type in the project'),
      member: z
        .boolean()
        .default(true)
        .describe('false: the resource is only referenced by physicalId and is not part of the project'),
      physicalId: PhysicalId.schema
        .optional()
        .describe('With `member: false`: id of the referenced resource'),
      payload: z
        .record(z.string(), z.unknown())
        .nullish()
        .describe(
          'The resource, in the format of its own operation. `{"ref": "<logicalId>"}` stands for the id of another resource',
        ),
      sourceFile: z.string().max(1000).nullish().describe('The file that declares it'),
    })
    .meta({ id: 'ProjectResource' }),
);
export type ProjectResource = z.output<typeof ProjectResource.schema>;

const RepoInfo = lazySchema(() => z.looseObject({}).nullish().describe('Repository of the caller'));

export const DeploymentInput = lazySchema(() =>
  z
    .object({
      project: ProjectInput.schema,
      sharedFiles: z
        .array(SharedFile.schema)
        .max(maxFiles)
        .default([])
        .describe(
          'Files that checks name in `dependencies`, `setupScriptDependencies` and `tearDownScriptDependencies` by their index',
        ),
      resources: z.array(ProjectResource.schema).max(maxResources),
      repoInfo: RepoInfo.schema,
    })
    .meta({ id: 'DeploymentInput', description: 'All resources of the project' }),
);
export type DeploymentInput = z.output<typeof DeploymentInput.schema>;

const DeployedProject = lazySchema(() =>
  z
    .object({
      id: z.string(),
      logicalId: z.string(),
      name: z.string(),
      repoUrl: z.string().nullable(),
      createdAt: z.iso.datetime(),
      updatedAt: z.iso.datetime().nullable(),
    })
    .meta({ id: 'DeployedProject' }),
);

export const Change = lazySchema(() =>
  z
    .object({
      type: ProjectResourceType.schema,
      logicalId: z.string(),
      physicalId: z
        .union([z.int(), z.string()])
        .optional()
        .describe('Absent for a resource that has not been created yet'),
      action: z
        .enum(['CREATE', 'UPDATE', 'DELETE', 'DETACHED'])
        .describe('DETACHED: it stays in the account, but no longer belongs to the project'),
    })
    .meta({ id: 'ProjectChange' }),
);
export type Change = z.output<typeof Change.schema>;

export const DeploymentResult = lazySchema(() =>
  z
    .object({
      project: DeployedProject.schema,
      diff: z.array(Change.schema).describe('Differences; unchanged resources are omitted'),
    })
    .meta({ id: 'DeploymentResult' }),
);
export type DeploymentResult = z.output<typeof DeploymentResult.schema>;

export const deploymentStatuses = ['PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED'] as const;

export const Deployment = lazySchema(() =>
  z
    .object({
      id: z.string(),
      logicalId: z.string().describe('logicalId of the project'),
      status: z.enum(deploymentStatuses),
      dryRun: z.literal(false),
      progress: z.int().min(0).max(100).describe('Percent'),
      error: z.object({ code: z.string(), message: z.string() }).nullable(),
      result: DeploymentResult.schema.nullable().describe('Changes; null until it has succeeded'),
      createdAt: z.iso.datetime(),
      startedAt: z.iso.datetime().nullable(),
      endedAt: z.iso.datetime().nullable(),
      cancelRequestedAt: z.iso.datetime().nullable(),
    })
    .meta({ id: 'Deployment' }),
);
export type Deployment = z.output<typeof Deployment.schema>;

/** A deployment in a list: its changes may be megabytes. */
export const DeploymentSummary = lazySchema(() =>
  Deployment.schema.omit({ result: true }).meta({ id: 'DeploymentSummary' }),
);
export type DeploymentSummary = z.output<typeof DeploymentSummary.schema>;

export const Project = lazySchema(() =>
  z
    .object({
      id: z.string(),
      logicalId: z.string(),
      name: z.string(),
      repoUrl: z.string().nullable(),
      created_at: z.iso.datetime(),
      updated_at: z.iso.datetime().nullable(),
      resourceCount: z.int().describe('Number of its resources'),
      lastDeployment: DeploymentSummary.schema.nullable(),
    })
    .meta({ id: 'Project' }),
);
export type Project = z.output<typeof Project.schema>;
const ofProject = z.object({ logicalId: LogicalId.schema });
const ofDeployment = z.object({ logicalId: LogicalId.schema, deploymentId: z.uuid() });
const deploymentPath = '/v1/projects/{logicalId}/deployments/{deploymentId}';
const dryRun = QueryBoolean.default(false).describe('Only return the planned changes');
const preserveResources = QueryBoolean.default(false).describe(
  'Keep resources in the account that are no longer in the project, instead of deleting them',
);

export const projectRoutes = defineRoutes('Projects', 'account', {
  deployProject: {
    method: 'POST',
    path: '/v1/projects/deploy',
    summary: 'Deploy a project to the account: all changes or none. With dryRun: 200 and the planned changes',
    query: lazySchema(() =>
      z.object({
        dryRun,
        preserveResources,
        scheduleOnDeploy: QueryBoolean.default(true).describe(
          'Run new active checks once immediately after the deployment; false: they wait for their first slot',
        ),
      }),
    ),
    body: DeploymentInput,
    bodyLimitBytes: 32 * 1024 * 1024,
    otherErrors: [409],
    success: accepted,
    otherSuccess: successful,
    response: lazySchema(() => z.union([Deployment.schema, DeploymentResult.schema])),
  },
  listDeployments: {
    method: 'GET',
    path: '/v1/projects/{logicalId}/deployments',
    summary: 'Deployments of a project, newest first, without their changes; the latest 50 are kept',
    params: ofProject,
    query: lazySchema(() =>
      z.object({
        from: Timestamp.optional().describe('Only those that were in progress at this time or later'),
        to: Timestamp.optional().describe('Only those that were requested before this time'),
        ...Paging,
      }),
    ),
    response: lazySchema(() => z.array(DeploymentSummary.schema)),
  },
  getDeployment: {
    method: 'GET',
    path: deploymentPath,
    summary: 'One deployment of a project',
    params: ofDeployment,
    response: Deployment,
  },
  followDeployment: {
    method: 'GET',
    path: `${deploymentPath}/events`,
    summary:
      'Server-sent events of a deployment: `progress` with `{"progress": 40}`, and at its end `complete` with the deployment',
    params: ofDeployment,
    response: z.string(),
    responseContentType: 'text/event-stream',
    isResponseRaw: true,
    isOnConnection: true,
  },
  awaitDeployment: {
    method: 'GET',
    path: `${deploymentPath}/completion`,
    summary: 'Wait until a deployment has ended; 408 while it is in progress',
    params: ofDeployment,
    query: z.object({ maxWaitSeconds: z.coerce.number().min(0).max(30).default(30) }),
    response: Deployment,
    otherErrors: [408],
  },
  cancelDeployment: {
    method: 'POST',
    path: `${deploymentPath}/cancel`,
    summary: 'Cancel a deployment in progress; one that has ended is not changed',
    params: ofDeployment,
    success: accepted,
    response: Deployment,
  },
  deleteProject: {
    method: 'DELETE',
    path: '/v1/projects/{logicalId}',
    summary: 'Delete a project and its resources, as a deployment; 200 if the project does not exist',
    params: ofProject,
    query: z.object({ dryRun, preserveResources }),
    otherErrors: [409],
    success: accepted,
    otherSuccess: successful,
    response: lazySchema(() => z.union([Deployment.schema, z.object({ diff: z.array(Change.schema) })])),
  },
  listProjects: {
    method: 'GET',
    path: '/next/projects',
    summary: 'Projects of the account, by name',
    response: lazySchema(() => z.array(Project.schema)),
  },
  createProject: {
    method: 'POST',
    path: '/next/projects',
    summary: 'Create a project without resources',
    body: ProjectInput,
    otherErrors: [409],
    success: created,
    response: Project,
  },
  getProject: {
    method: 'GET',
    path: '/next/projects/{logicalId}',
    summary: 'One project',
    params: ofProject,
    response: Project,
  },
});
