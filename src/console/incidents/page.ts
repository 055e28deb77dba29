import { type Page, posts } from '../page.ts';
import { createOne, newIncident } from './editor.ts';
import { deleteOne, postUpdate, saveIncident, showIncident, takeBack } from './incident.ts';
import { listIncidents } from './list.ts';

const base = '/pages/incidents';

export const incidentPages: readonly Page[] = [
  { path: base, title: 'Incidents', role: 'READ_ONLY', handler: listIncidents },
  { path: `${base}/new`, title: 'New incident', role: 'READ_WRITE', handler: (call) => newIncident(call) },
  { path: `${base}/:id`, title: 'Incident', role: 'READ_ONLY', handler: (call) => showIncident(call) },
  ...posts(base, {
    '/new': ['New incident', createOne],
    '/:id': ['Change incident', saveIncident],
    '/:id/updates': ['Update an incident', postUpdate],
    '/:id/updates/:update/delete': ['Retract an update', takeBack],
    '/:id/delete': ['Delete incident', deleteOne],
  }),
];
