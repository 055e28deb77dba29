import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { z } from 'zod';
import { channelKinds } from '../../../../src/channels/index.ts';
import { apiGroupDefaults } from '../../../../src/checks/api/group-defaults.ts';
import type { MaskedValue } from '../../../../src/checks/contract/masking.ts';
import { maskDefinition } from '../../../../src/checks/contract/masking.ts';
import { ChannelFlags } from '../../../../src/protocol/alerts/alert-channel.ts';
import { CheckGroupInput, maskedInGroups } from '../../../../src/protocol/checks/check-group.ts';
import { ClientCertificateInput } from '../../../../src/protocol/checks/client-certificate.ts';
import { VariableInput } from '../../../../src/protocol/checks/variable.ts';
import { PrivateLocationInput } from '../../../../src/protocol/locations/private-location.ts';
import { AutomationRuleInput } from '../../../../src/protocol/pages/automation-rule.ts';
import { DashboardInput } from '../../../../src/protocol/pages/dashboard.ts';
import { MaintenanceWindowInput } from '../../../../src/protocol/pages/maintenance-window.ts';
import { StatusPageInput } from '../../../../src/protocol/pages/status-page.ts';
import { StatusPageComponentInput } from '../../../../src/protocol/pages/status-page-component.ts';
import { kinds } from '../../../../src/protocol/projects/kinds.ts';
import { projectResourceTypes } from '../../../../src/protocol/projects/project.ts';
import { SloInput } from '../../../../src/protocol/results/slo.ts';
import { wholeBody } from '../../../helpers/service/api-requests/whole-bodies.ts';
import { createAuthority } from '../../../helpers/targets/certificates.ts';
import { callProvider, smsProvider } from '../channel-receivers/phone.ts';
import { hoursOf } from './deployed-fields.ts';
import type { StoreStage } from './stage.ts';

type Body = Readonly<Record<string, unknown>>;
type Variant = 1 | 2;

export interface Deployed {
  readonly type: string;
  readonly logicalId: string;
  /** The path that shows it, without its id. */
  readonly path: string;
  readonly payload: Body;
  /** The fields that are shown, if they differ from the written ones. */
  readonly shown?: Body;
}

const ref = (name: string) => ({ ref: name });
const image = 'https://example.com/image.png';

/** A body derived from its schema; ids in it refer to other resources of the project. */
function whole(schema: z.ZodType, variant: Variant, known: Body): Body {
  return wholeBody(schema as z.ZodObject, variant, known);
}

function shownOf(schema: z.ZodType, masked: readonly MaskedValue[], body: Body): Body {
  return maskDefinition(masked, schema.parse(body) as Body);
}

/** Colors are shown in upper case. */
function shownColors(themeColors: unknown): unknown {
  const text = JSON.stringify(themeColors);
  return JSON.parse(text.replaceAll(/"#[0-9a-f]+"/gi, (color) => color.toUpperCase()));
}

/** Addresses cannot be derived from a schema. */
const pageAddresses = (v: string) => ({
  logoDark: image,
  privacyPolicyLink: `https://example.com/privacy/${v}`,
  termsOfServiceLink: `https://example.com/terms/${v}`,
  supportLink: `https://example.com/support/${v}`,
  googleAnalyticsTag: `G-${v.toUpperCase()}`,
});

export const certificatesOfKinds = async () => {
  const authority = await createAuthority();
  return [await authority.issue(), await authority.issue()] as const;
};

/** A resource of every kind other than checks, with every field. */
export function resourcesOf(
  variant: Variant,
  certificates: Awaited<ReturnType<typeof certificatesOfKinds>>,
): Deployed[] {
  const known = knownResourcesOf(variant, certificates);
  const isKnown = new Set(known.map(({ type }) => type));
  const derived = kinds.flatMap(({ type, routes: { create } }): Deployed[] => {
    if (type === 'check' || isKnown.has(type)) return [];
    const payload = whole(create.body as z.ZodType, variant, {});
    return [{ type, logicalId: type, path: create.path, payload }];
  });
  return [...derived, ...known];
}

/** Resources whose schemas do not express every rule. */
function knownResourcesOf(
  variant: Variant,
  [first, second]: Awaited<ReturnType<typeof certificatesOfKinds>>,
): Deployed[] {
  const v = `v${variant}`;
  const group = whole(CheckGroupInput.schema, variant, {
    locations: [variant === 1 ? 'eu-central-1' : 'us-east-1'],
    privateLocations: [],
    alertChannelSubscriptions: [],
    setupSnippetId: null,
    tearDownSnippetId: null,
    runtimeId: variant === 1 ? '2025.04' : null,
    activeHours: hoursOf(variant),
    apiCheckDefaults: whole(apiGroupDefaults.schema, variant, {
      assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: `20${variant}` }],
      // Only one of the two may be set.
      ...(variant === 1 ? { auth: null } : { basicAuth: null }),
    }),
  });
  const page = whole(StatusPageInput.schema, variant, {
    url: `page-${v}`,
    customDomain: `${v}.example.com`,
    logo: image,
    favicon: image,
    redirectTo: `https://example.com/${v}`,
    cards: [{ name: `Card ${v}`, services: [] }],
    version: 2,
    ...pageAddresses(v),
  });
  const { cards: _, ...componentPage } = whole(StatusPageInput.schema, variant, {
    ...page,
    url: `components-${v}`,
    customDomain: `components.${v}.example.com`,
    version: 3,
    cards: [],
  });
  const component = (name: string) =>
    whole(StatusPageComponentInput.schema, variant, {
      ...{ name: `${name} ${v}`, statusPageId: randomUUID(), parentId: null, type: 'GROUP' },
    });
  const outer = (name: string) => ({ ...component(name), statusPageId: ref('components') });
  const impact = variant === 1 ? 'PARTIAL_OUTAGE' : 'MAJOR_OUTAGE';
  const rule = whole(AutomationRuleInput.schema, variant, {
    ...{ name: `Rule ${v}`, statusPageId: randomUUID(), tags: [v] },
    components: [{ componentId: randomUUID(), targetImpact: impact }],
  });
  const window = whole(MaintenanceWindowInput.schema, variant, {
    startsAt: `2031-01-0${variant}T00:00:00.000Z`,
    endsAt: `2031-01-0${variant}T01:00:00.000Z`,
    repeatInterval: variant,
    repeatUnit: variant === 1 ? 'DAY' : 'WEEK',
    repeatEndsAt: `2032-01-0${variant}T00:00:00.000Z`,
    timezone: variant === 1 ? 'Europe/Berlin' : 'Asia/Tokyo',
  });
  const visibility = {
    ...(window.statusPageVisibility as Body),
    statusPageIds: [],
    serviceIds: [],
    componentIds: [],
  };
  const slo = whole(SloInput.schema, variant, {
    checkId: null,
    groupId: null,
    tags: [v],
    alertChannelIds: [],
  });
  const variable = whole(VariableInput.schema, variant, {
    key: 'TOKEN',
    value: `value-${v}`,
    valueFrom: null,
  });
  const certificate = { host: `${v}.example.com`, ...(variant === 1 ? first : second) };
  return [
    {
      type: 'private-location',
      logicalId: 'office',
      path: '/v1/private-locations',
      payload: whole(PrivateLocationInput.schema, variant, {
        slugName: 'office',
        proxyUrl: `http://proxy.example.com:312${variant}`,
      }),
    },
    ...channelKinds.map((kind): Deployed => {
      const logicalId = kind.type.toLowerCase();
      const headers = [{ key: 'x-team', value: v, locked: true }];
      const own = kind.type === 'WEBHOOK' ? { method: variant === 1 ? 'PUT' : 'GET', headers } : {};
      const config = whole(kind.config, variant, { ...kind.sample, ...own });
      const flags = whole(ChannelFlags.schema, variant, {
        // It would subscribe new groups, which the code does not define.
        autoSubscribe: variant === 2,
        quietHours: {
          from: '22:00',
          until: `07:0${variant}`,
          timezone: 'Europe/Berlin',
          exceptFailures: true,
        },
      });
      const payload = { type: kind.type, config, ...flags };
      const shown = maskDefinition(kind.masked, { ...payload, config: kind.config.parse(config) });
      return { type: 'alert-channel', logicalId, path: '/v1/alert-channels', payload, shown };
    }),
    {
      type: 'variable',
      logicalId: 'token',
      path: '/v1/variables',
      payload: { ...variable, locked: variant === 1, secret: false },
      shown: { key: 'TOKEN', value: variant === 1 ? '' : 'value-v2', locked: variant === 1, secret: false },
    },
    {
      type: 'variable',
      logicalId: 'at-location',
      path: '/v1/variables',
      payload: { key: 'AT_LOCATION', value: '', valueFrom: `SERVICE_SECRET_${v.toUpperCase()}` },
    },
    {
      type: 'client-certificate',
      logicalId: 'certificate',
      path: '/v1/client-certificates',
      payload: whole(ClientCertificateInput.schema, variant, {
        ...certificate,
        ca: certificate.cert,
        passphrase: null,
      }),
      shown: { host: certificate.host, cert: certificate.cert, ca: certificate.cert },
    },
    {
      type: 'status-page-service',
      logicalId: 'service',
      path: '/v1/status-pages/services',
      payload: { name: `Service ${v}` },
    },
    {
      type: 'status-page',
      logicalId: 'page',
      path: '/v1/status-pages',
      payload: { ...page, cards: [{ name: `Card ${v}`, services: [ref('service')] }] },
      shown: {
        ...page,
        themeColors: shownColors(page.themeColors),
        cards: [expect.objectContaining({ name: `Card ${v}` })],
      },
    },
    {
      type: 'status-page',
      logicalId: 'components',
      path: '/v1/status-pages',
      payload: componentPage,
      shown: { ...componentPage, themeColors: shownColors(componentPage.themeColors), cards: [] },
    },
    {
      type: 'status-page-component',
      logicalId: 'all',
      path: '/v1/status-pages/components',
      payload: outer('All'),
      shown: { ...outer('All'), statusPageId: expect.any(String), parentId: null },
    },
    {
      type: 'status-page-component',
      logicalId: 'one',
      path: '/v1/status-pages/components',
      payload: { ...outer('One'), parentId: ref('all') },
      shown: { ...outer('One'), statusPageId: expect.any(String), parentId: expect.any(String) },
    },
    {
      type: 'status-page-automation-rule',
      logicalId: 'rule',
      path: '/v1/status-pages/automation-rules',
      payload: {
        ...rule,
        statusPageId: ref('components'),
        components: [{ componentId: ref('one'), targetImpact: impact }],
      },
      shown: {
        ...rule,
        statusPageId: expect.any(String),
        components: [{ componentId: expect.any(String), targetImpact: impact }],
      },
    },
    {
      type: 'check-group',
      logicalId: 'group',
      path: '/v1/check-groups',
      payload: { ...group, setupSnippetId: ref('snippet'), tearDownSnippetId: ref('snippet') },
      shown: {
        ...shownOf(CheckGroupInput.schema, maskedInGroups, group),
        alertChannelSubscriptions: [{ alertChannelId: expect.any(Number), activated: variant === 1 }],
        privateLocations: ['office'],
        setupSnippetId: expect.any(Number),
        tearDownSnippetId: expect.any(Number),
      },
    },
    {
      type: 'maintenance-window',
      logicalId: 'window',
      path: '/v1/maintenance-windows',
      payload: {
        ...window,
        statusPageVisibility: {
          ...visibility,
          statusPageIds: [ref('page')],
          serviceIds: [ref('service')],
          componentIds: [ref('one')],
        },
      },
      shown: {
        ...(MaintenanceWindowInput.parse(window) as Body),
        statusPageVisibility: {
          ...visibility,
          statusPageIds: [expect.any(String)],
          serviceIds: [expect.any(String)],
          componentIds: [expect.any(String)],
        },
      },
    },
    {
      type: 'dashboard',
      logicalId: 'board',
      path: '/v1/dashboards',
      payload: whole(DashboardInput.schema, variant, {
        customUrl: `board-${v}`,
        customDomain: `board.${v}.example.com`,
        logo: image,
        favicon: image,
        link: `https://example.com/${v}`,
      }),
    },
    {
      type: 'slo',
      logicalId: 'objective',
      path: '/v1/slos',
      payload: { ...slo, groupId: ref('group'), tags: [], alertChannelIds: [ref('email')] },
      shown: { ...slo, groupId: expect.any(Number), tags: [], alertChannelIds: [expect.any(Number)] },
    },
  ];
}

export const parts = (variant: Variant) => [
  {
    type: 'alert-channel-subscription',
    logicalId: 'group#email',
    payload: { alertChannelId: ref('email'), groupId: ref('group'), activated: variant === 1 },
  },
  {
    type: 'private-location-group-assignment',
    logicalId: 'group#office',
    payload: { privateLocationId: ref('office'), groupId: ref('group') },
  },
];

/** A deployment writes exactly what its code defines, for every kind of resource other than checks. */
export function deployedKindSuite(stage: StoreStage): void {
  it('deploys every kind with every field, finds no drift, changes every one, and destroys them', async () => {
    const provider = 'https://phone.example.com';
    stage.alerting = { SMS_PROVIDER: smsProvider(provider), CALL_PROVIDER: callProvider(provider) };
    await stage.start();
    stage.alerting = {};
    stage.harness.startDeployments();
    const { call } = stage.harness;
    const issued = await certificatesOfKinds();
    const ended = async (started: Awaited<ReturnType<typeof call>>) => {
      const deployment = await stage.deploymentEnded(started);
      expect(deployment.error).toBeNull();
      return deployment.result.diff as {
        type: string;
        logicalId: string;
        physicalId: string;
        action: string;
      }[];
    };
    const deploy = async (variant: Variant) => {
      const resources = [
        ...resourcesOf(variant, issued).map(({ type, logicalId, payload }) => ({ type, logicalId, payload })),
        ...parts(variant),
      ];
      const body = { project: { logicalId: 'project', name: 'Project' }, resources };
      return ended(await call('POST', '/v1/projects/deploy', body));
    };
    const readBack = async (diff: Awaited<ReturnType<typeof deploy>>, variant: Variant) => {
      for (const { type, logicalId, path, payload, shown } of resourcesOf(variant, issued)) {
        const change = diff.findLast((one) => one.type === type && one.logicalId === logicalId);
        const answer = await call('GET', `${path}/${change?.physicalId}`);
        expect([type, logicalId, answer.status]).toEqual([type, logicalId, 200]);
        expect(answer.body).toMatchObject(shown ?? payload);
      }
    };
    const created = await deploy(1);
    const deployedTypes = new Set([...created.map(({ type }) => type), 'check']);
    expect(
      projectResourceTypes.filter((type) => !deployedTypes.has(type) && !type.endsWith('-assignment')),
    ).toEqual([]);
    await readBack(created, 1);
    expect(await deploy(1)).toEqual([]);

    const changed = await deploy(2);
    const names = (diff: typeof created) =>
      new Set(diff.map(({ type, logicalId }) => `${type} ${logicalId}`));
    expect(names(changed)).toEqual(names(created));
    await readBack(changed, 2);
    expect(await deploy(2)).toEqual([]);

    const destroyed = await ended(await call('DELETE', '/v1/projects/project'));
    expect(names(destroyed)).toEqual(names(created));
    for (const { path } of resourcesOf(2, issued)) {
      const left = (await call('GET', path)).body;
      const entries = (Array.isArray(left) ? left : left.entries) as { slugName?: string }[];
      expect([path, entries.filter(({ slugName }) => slugName !== 'lab')]).toEqual([path, []]);
    }
  });
}
