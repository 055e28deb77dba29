import { isRecord } from '@picket/lib/json/record.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import { pageOfCards } from '@picket/protocol/pages/status-page.ts';
import { type Body, idsIn, type Lookup, type Particulars } from './kind.ts';

export const statusPageComponents: Particulars = {
  ids: idsIn('components'),
  // Responses show only the fields of the component's type.
  asWritten: ({ configuration, ...shown }) => ({
    ...shown,
    configuration: { expandedByDefault: false, ...(isRecord(configuration) ? configuration : {}) },
  }),
  bodyOf: (payload) => ({ ...payload, description: payload.description || null }),
  isReplaced: (desired, stored) =>
    desired.statusPageId !== stored.statusPageId || desired.type !== stored.type,
  judge: async (body, lookup) => {
    await requireComponentPage(body, lookup);
    const parent = await lookup('status-page-component', body.parentId);
    if (!parent) return;
    if (parent.type !== 'GROUP')
      throw refuse('parentId', `must name a GROUP: "${parent.name}" is not a group`);
    requireSamePage('parentId', body, parent);
  },
};

export const automationRules: Particulars = {
  ids: idsIn('automationRules'),
  isReplaced: (desired, stored) => desired.statusPageId !== stored.statusPageId,
  judge: async (body, lookup) => {
    await requireComponentPage(body, lookup);
    for (const [index, { componentId }] of (body.components as { componentId: string }[]).entries()) {
      const component = await lookup('status-page-component', componentId);
      if (component) requireSamePage(`components.${index}.componentId`, body, component);
    }
  },
};

async function requireComponentPage(body: Body, lookup: Lookup): Promise<void> {
  const page = await lookup('status-page', body.statusPageId);
  if (page && page.version !== 3) throw refuse('statusPageId', pageOfCards);
}

function requireSamePage(key: string, body: Body, component: Body): void {
  if (String(component.statusPageId).toLowerCase() === String(body.statusPageId).toLowerCase()) return;
  throw refuse(key, `names a component of another status page: "${component.name}"`);
}

function refuse(key: string, message: string): Error {
  return fieldError('payload', [{ key, message }]);
}
