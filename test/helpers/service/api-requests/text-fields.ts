import type { InhabitedAccount } from './inhabited-account.ts';

type Json = Record<string, unknown>;

/** A field of an object for free text. */
export interface TextField {
  readonly name: string;
  /** The route that creates the object, and its body with this text. */
  readonly path: string;
  readonly body: (text: string, account: InhabitedAccount) => Json;
  /** Returns the text from a response. */
  readonly shown: (answer: Json) => unknown;
}

const window = { startsAt: '2026-01-01T00:00:00Z', endsAt: '2026-01-01T01:00:00Z' };

/** One for each kind of object. */
export const textFields: readonly TextField[] = [
  {
    name: 'a check',
    path: '/v1/checks',
    body: (text) => ({
      checkType: 'API',
      name: text,
      description: text,
      tags: [text],
      environmentVariables: [{ key: 'A', value: text }],
      request: { url: 'http://x.test', body: text, headers: [{ key: 'a', value: 'b' }] },
    }),
    shown: ({ name, description, tags, request, environmentVariables }) => [
      name,
      description,
      ...(tags as string[]),
      (request as Json).body,
      (environmentVariables as Json[])[0]?.value,
    ],
  },
  {
    name: 'a group',
    path: '/v1/check-groups',
    body: (text) => ({ name: text, tags: [text] }),
    shown: ({ name, tags }) => [name, ...(tags as string[])],
  },
  {
    name: 'a snippet',
    path: '/v1/snippets',
    body: (text) => ({ name: 'x', script: text }),
    shown: ({ script }) => [script],
  },
  {
    name: 'a location',
    path: '/v1/private-locations',
    body: (text) => ({ name: text, slugName: unusedName() }),
    shown: ({ name }) => [name],
  },
  {
    name: 'a variable',
    path: '/v1/variables',
    body: (text) => ({ key: unusedName(), value: text }),
    shown: ({ value }) => [value],
  },
  {
    name: 'a window',
    path: '/v1/maintenance-windows',
    body: (text) => ({ name: text, tags: [text], ...window }),
    shown: ({ name, tags }) => [name, ...(tags as string[])],
  },
  {
    name: 'a dashboard',
    path: '/v1/dashboards',
    body: (text) => ({ header: text, description: text, customCSS: text }),
    shown: ({ header, description, customCSS }) => [header, description, customCSS],
  },
  {
    name: 'a service',
    path: '/v1/status-pages/services',
    body: (text) => ({ name: text }),
    shown: ({ name }) => [name],
  },
  {
    name: 'a status page',
    path: '/v1/status-pages',
    body: (text) => ({ name: text, description: text, url: unusedName(), cards: [{ name: text }] }),
    shown: ({ name, description, cards }) => [name, description, (cards as Json[])[0]?.name],
  },
  {
    name: 'a component of a status page',
    path: '/v1/status-pages/components',
    body: (text, { known }) => ({
      name: text,
      description: text,
      statusPageId: known.idOf('/v1/status-pages/{}', 1),
    }),
    shown: ({ name, description }) => [name, description],
  },
  {
    name: 'an automation rule',
    path: '/v1/status-pages/automation-rules',
    body: (text, { known }) => ({
      ...{ name: text, tags: [text], firstUpdate: text, lastUpdate: text },
      statusPageId: known.idOf('/v1/status-pages/{}', 1),
      components: [
        { componentId: known.idOf('/v1/status-pages/components/{}', 0), targetImpact: 'PARTIAL_OUTAGE' },
      ],
    }),
    shown: ({ name, tags, firstUpdate, lastUpdate }) => [
      ...[name, firstUpdate, lastUpdate],
      ...(tags as string[]),
    ],
  },
  {
    name: 'an incident',
    path: '/v1/status-pages/incidents',
    body: (text, { known }) => ({
      name: text,
      severity: 'MINOR',
      services: [{ id: known.idOf('/v1/status-pages/services/{}', 0) }],
      incidentUpdates: [{ status: 'INVESTIGATING', description: text }],
    }),
    shown: ({ name, incidentUpdates }) => [name, (incidentUpdates as Json[])[0]?.description],
  },
];

/** An unused name that fits every name field. */
function unusedName(): string {
  return `n${crypto.randomUUID().slice(0, 18)}`.slice(0, 18).replace(/-$/, 'x');
}

/**
 * Creates an object with a text and reads it back.
 *
 * @returns the problem: the text is neither stored unchanged nor refused with the name of its field; undefined if there
 * is no problem.
 */
export async function writeText(
  account: InhabitedAccount,
  field: TextField,
  text: string,
): Promise<string | undefined> {
  const { harness } = account;
  const told = (what: string, answer: unknown) =>
    `${field.name} ${JSON.stringify(text)}: ${what} ${JSON.stringify(answer).slice(0, 300)}`;
  const made = await harness.call('POST', field.path, field.body(text, account));
  if (made.status === 400) {
    return made.body.validation?.keys?.length > 0 ? undefined : told('refused without a field', made.body);
  }
  if (made.status >= 300) return told(`answered ${made.status}`, made.body);
  const id = made.body.dashboardId ?? made.body.id ?? made.body.key;
  const read = await harness.call('GET', `${field.path}/${id}`);
  for (const { body } of [made, read]) {
    const shown = field.shown(body);
    if (!(shown as unknown[]).every((one) => one === text)) return told('is not what was written:', shown);
  }
  // Deleted so that lists stay short.
  const gone = await harness.call('DELETE', `${field.path}/${id}`);
  return gone.status === 204 ? undefined : told(`cannot be deleted: ${gone.status}`, gone.body);
}
