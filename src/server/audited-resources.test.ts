import { resourceName, subjectOf, valuesFor } from '@picket/service/audit/resources.ts';
import { describe, expect, it } from 'vitest';
import { allRoutes } from './features.ts';

const resourceOf = (operationId: string, params: Record<string, string>, answer = {}) => {
  const route = allRoutes.find((one) => one.operationId === operationId);
  if (!route) throw new Error(`no ${operationId}`);
  const subject = subjectOf(route, allRoutes);
  const values = valuesFor(subject, params, answer);
  return [resourceName(subject, values), subject.read?.operationId];
};

describe('the subject of a write', () => {
  it.each([
    ['createUrlMonitor', {}, { id: 'a' }, 'checks/a', 'getCheck'],
    ['updateUrlMonitor', { id: 'a' }, {}, 'checks/a', 'getCheck'],
    ['deleteCheck', { id: 'a' }, {}, 'checks/a', 'getCheck'],
    ['acknowledgeAlert', { id: 'a' }, {}, 'checks/a', 'getCheck'],
    ['createService', {}, { id: 's' }, 'status-pages/services/s', 'getService'],
    ['updateStatusPage', { statusPageId: 'p' }, {}, 'status-pages/p', 'getStatusPage'],
    ['createDashboardIncidentUpdate', { id: 'i' }, {}, 'incidents/i', 'getDashboardIncident'],
    ['deletePrivateLocationKey', { id: 'l', keyId: 'k' }, {}, 'private-locations/l', 'getPrivateLocation'],
    ['updateVariable', { key: 'STAGE' }, {}, 'variables/STAGE', 'getVariable'],
    ['createVariable', {}, { key: 'STAGE' }, 'variables/STAGE', 'getVariable'],
    ['triggerCheckSessions', {}, {}, 'check-sessions', 'getCheckSession'],
    ['deleteApiKey', { id: 'k' }, {}, 'api-keys/k', 'getApiKey'],
  ])('%s', (operation, params, answer, resource, read) => {
    expect(resourceOf(operation, params as Record<string, string>, answer)).toEqual([resource, read]);
  });

  it('is known for every write of an account', () => {
    for (const route of allRoutes) {
      if (route.credential !== 'account' || route.method === 'GET') continue;
      const subject = subjectOf(route, allRoutes);
      const names = [...subject.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
      const own = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
      // A write with a name in its path or body is recorded with that name.
      if (own.length > 0) expect(own, route.operationId).toEqual(expect.arrayContaining(names));
    }
  });
});
